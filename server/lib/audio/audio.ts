/** Sound as calls carry it: 8 kHz, mono, signed 16-bit little-endian samples, without a header. */
export const sample_rate_hz = 8_000;
export const bytes_per_ms = (sample_rate_hz * 2) / 1_000;

/** Something that can be played on calls. */
export type Audio = {
  /** 64 hex digits. Clips of one name are the same sound, for ever. */
  readonly name: string;
  readonly duration_ms: number;
  /** The samples; asked for only where they are not at hand yet. */
  readonly read: () => Promise<Buffer>;
};
