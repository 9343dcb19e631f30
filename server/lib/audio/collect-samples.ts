import { AudioError } from "./audio-error.ts";
import { bytes_per_ms, sample_rate_hz } from "./audio.ts";
import { openRateConverter, type RateConverter } from "./convert-rate.ts";
import { toBytes } from "./resample.ts";

/** Converts audio of any sample rate and channel count, piece by piece, to the format of calls. */
export type SampleCollector = {
  /** Adds a piece of each channel, full scale 1. Throws AudioError as soon as the audio is too long. */
  push(channels: readonly Float32Array[], rate_hz: number): void;
  /** Returns whether nothing was added yet. */
  isEmpty(): boolean;
  /** Returns the samples in the format of audio.ts. Throws AudioError when there are none. */
  samples(): Buffer;
};

const rate_hz_min = 2_000;
const rate_hz_max = 192_000;
/** Audio above full scale is attenuated by at most 12 dB, so that one invalid peak does not silence the rest. */
const peak_max = 4;

/** Opens a collector that holds at most `duration_ms_max` of mono audio at the sample rate of calls. */
export function collectSamples(duration_ms_max: number): SampleCollector {
  const length_max = (duration_ms_max * bytes_per_ms) / 2;
  const pieces: Float32Array[] = [];
  let length = 0;
  let peak = 1;
  let converter: RateConverter | null = null;
  let converted_hz = 0;
  const add = (piece: Float32Array): void => {
    length += piece.length;
    if (length > length_max)
      throw new AudioError(`the audio must be at most ${formatDuration(duration_ms_max)} long`);
    for (const sample of piece) peak = Math.max(peak, Math.abs(sample));
    pieces.push(piece);
  };
  return {
    push(channels, rate_hz) {
      if (channels.length === 0 || channels[0]!.length === 0) return;
      if (!Number.isInteger(rate_hz) || rate_hz < rate_hz_min || rate_hz > rate_hz_max)
        throw new AudioError(
          `the sample rate must be ${rate_hz_min}-${rate_hz_max} Hz, not ${rate_hz}`,
        );
      if (converter === null || rate_hz !== converted_hz) {
        if (converter !== null) add(converter.flush());
        converter = openRateConverter(rate_hz, sample_rate_hz);
        converted_hz = rate_hz;
      }
      add(converter.push(mix(channels)));
    },
    isEmpty: () => converter === null,
    samples() {
      if (converter !== null) add(converter.flush());
      converter = null;
      if (length === 0) throw new AudioError("the file contains no audio");
      const gain = 1 / Math.min(peak, peak_max);
      return Buffer.concat(pieces.map((piece) => toBytes(piece.map((value) => value * gain))));
    },
  };
}

function mix(channels: readonly Float32Array[]): Float32Array {
  return channels[0]!.map((_, index) => {
    const sum = channels.reduce((total, channel) => total + (channel[index] ?? 0), 0);
    // The filter would spread a NaN to all following samples.
    return Number.isFinite(sum) ? Math.max(-1e3, Math.min(1e3, sum / channels.length)) : 0;
  });
}

function formatDuration(duration_ms: number): string {
  const minutes = duration_ms / 60_000;
  return minutes >= 1 ? `${minutes} minutes` : `${duration_ms / 1_000} seconds`;
}
