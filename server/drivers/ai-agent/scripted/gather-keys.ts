// An answer by keys: complete at #, or when no other key follows.

const pause_ms = 3_000;
const keys_max = 64;

export type GatheredKeys = {
  readonly press: (key: string) => void;
  readonly forget: () => void;
  /** Whether a key was pressed and more may follow. */
  readonly isOpen: () => boolean;
};

/** Tells `complete` what was pressed before the #: "" for a lone one. */
export function gatherKeys(parts: {
  readonly later: (delay_ms: number, run: () => void) => () => void;
  readonly complete: (keys: string) => void;
}): GatheredKeys {
  let keys = "";
  let stopPause: (() => void) | null = null;
  const forget = () => {
    keys = "";
    stopPause?.();
    stopPause = null;
  };
  const complete = () => {
    const pressed = keys;
    forget();
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
    forget,
    isOpen: () => stopPause !== null,
  };
}
