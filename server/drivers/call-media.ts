/**
 * Two-way audio with one party of a call, as samples of lib/audio/audio.ts. Written audio is played in order and in
 * real time. After the call ends, every operation does nothing.
 */
export type CallMedia = {
  /** Passes the party's audio to the only listener, 20 ms (320 bytes) at a time. */
  listen(onSamples: (samples: Buffer) => void): void;
  /** Queues audio of any length for playback. */
  write(samples: Buffer): void;
  /** Discards queued audio, which stops playback at once. */
  flush(): void;
  /** Returns the duration of the audio that is queued and not played yet. */
  queued_ms(): number;
  close(): Promise<void>;
  /** Resolves when the audio has ended, for any reason. */
  readonly closed: Promise<void>;
};
