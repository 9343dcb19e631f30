/**
 * Sound both ways with somebody on a call, in the samples of lib/audio/audio.ts. What is written is played
 * in order, in real time; everything after the end does nothing.
 */
export type CallMedia = {
  /** What the other side says, 20 ms (320 bytes) at a time, from when a listener is set; one listener. */
  listen(hear: (samples: Buffer) => void): void;
  /** Any length. */
  write(samples: Buffer): void;
  /** Forgets what was written and not played yet: silent at once. */
  flush(): void;
  /** Of what was written since the last flush, so much is still to be played. */
  queued_ms(): number;
  close(): Promise<void>;
  /** Resolves when it has ended, whoever ended it. */
  readonly closed: Promise<void>;
};
