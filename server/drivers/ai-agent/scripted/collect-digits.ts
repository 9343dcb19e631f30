// Collects the digits of an answer until # or until no further key follows.

/** After the last key of an answer without #. */
export const pause_ms = 3_000;
const keys_max = 64;

export type DigitCollector = {
  readonly press: (key: string) => void;
  readonly reset: () => void;
  /** Returns whether a key was pressed and more may follow. */
  readonly isCollecting: () => boolean;
  /** Returns the keys that more may follow. */
  readonly pressed: () => string;
};

/** Calls `complete` with the keys pressed before #, or with "" for # alone. */
export function collectDigits(parts: {
  readonly later: (delay_ms: number, run: () => void) => () => void;
  readonly complete: (keys: string) => void;
}): DigitCollector {
  let keys = "";
  let stopPause: (() => void) | null = null;
  const reset = () => {
    keys = "";
    stopPause?.();
    stopPause = null;
  };
  const complete = () => {
    const pressed = keys;
    reset();
    parts.complete(pressed);
  };
  return {
    press(key) {
      stopPause?.();
      if (key === "#") {
        complete();
        return;
      }
      keys = (keys + key).slice(0, keys_max);
      stopPause = parts.later(pause_ms, complete);
    },
    reset,
    isCollecting: () => stopPause !== null,
    pressed: () => keys,
  };
}
