import { AudioRefused } from "./audio-refused.ts";
import { bytes_per_ms, sample_rate_hz } from "./audio.ts";
import { openRateConverter, type RateConverter } from "./convert-rate.ts";
import { toBytes } from "./resample.ts";

/** Takes a sound piece by piece, in whatever form, and makes it what calls carry. */
export type SampleGatherer = {
  /** A piece of each channel, 1 being the loudest; throws AudioRefused as soon as it is too long. */
  push(channels: readonly Float32Array[], rate_hz: number): void;
  /** Whether nothing came yet. */
  isEmpty(): boolean;
  /** Samples of clip.ts. Throws AudioRefused when there is none. */
  samples(): Buffer;
};

const rate_hz_min = 2_000;
const rate_hz_max = 192_000;
/** What overshoots is turned down as a whole, by 12 dB at most: one broken peak must not silence the rest. */
const overshoot_max = 4;

/** Mono, at the rate of calls, and not a millisecond more than `duration_ms_max` in memory. */
export function gatherSamples(duration_ms_max: number): SampleGatherer {
  const length_max = (duration_ms_max * bytes_per_ms) / 2;
  const pieces: Float32Array[] = [];
  let length = 0;
  let peak = 1;
  let converter: RateConverter | null = null;
  let converted_hz = 0;
  const keep = (piece: Float32Array): void => {
    length += piece.length;
    if (length > length_max)
      throw new AudioRefused(`it is longer than ${lengthInWords(duration_ms_max)}`);
    for (const sample of piece) peak = Math.max(peak, Math.abs(sample));
    pieces.push(piece);
  };
  return {
    push(channels, rate_hz) {
      if (channels.length === 0 || channels[0]!.length === 0) return;
      if (!Number.isInteger(rate_hz) || rate_hz < rate_hz_min || rate_hz > rate_hz_max)
        throw new AudioRefused(`its sample rate of ${rate_hz} Hz is not supported`);
      if (converter === null || rate_hz !== converted_hz) {
        if (converter !== null) keep(converter.rest());
        converter = openRateConverter(rate_hz, sample_rate_hz);
        converted_hz = rate_hz;
      }
      keep(converter.push(mix(channels)));
    },
    isEmpty: () => converter === null,
    samples() {
      if (converter !== null) keep(converter.rest());
      converter = null;
      if (length === 0) throw new AudioRefused("there is no sound in it");
      const loudness = 1 / Math.min(peak, overshoot_max);
      return Buffer.concat(pieces.map((piece) => toBytes(piece.map((value) => value * loudness))));
    },
  };
}

function mix(channels: readonly Float32Array[]): Float32Array {
  return channels[0]!.map((_, index) => {
    const sum = channels.reduce((total, channel) => total + (channel[index] ?? 0), 0);
    // A filter would carry one NaN on through all that follows.
    return Number.isFinite(sum) ? Math.max(-1e3, Math.min(1e3, sum / channels.length)) : 0;
  });
}

function lengthInWords(duration_ms: number): string {
  const minutes = duration_ms / 60_000;
  return minutes >= 1 ? `${minutes} minutes` : `${duration_ms / 1_000} seconds`;
}
