/** The audio format of calls: 8 kHz, mono, signed 16-bit little-endian samples, without a header. */
export const sample_rate_hz = 8_000;
export const bytes_per_ms = (sample_rate_hz * 2) / 1_000;

/** Audio that can be played on calls. */
export type Audio = {
  /** Whose audio it is, such as an account's ID: letters and digits. */
  readonly owner: string;
  /** 64 hex digits that identify the samples; audio of one owner with the same name never differs. */
  readonly name: string;
  readonly duration_ms: number;
  /** Returns the samples; called only where they are not stored yet. */
  readonly read: () => Promise<Buffer>;
};
