// Converts between the audio formats of a session and the samples of lib/audio/audio.ts.
import { sample_rate_hz } from "../../../lib/audio/audio.ts";
import { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from "../../../lib/audio/g711.ts";
import { openResampler } from "../../../lib/audio/resample.ts";

export type AudioFormat = "pcmu" | "pcma" | "pcm";

const pcm_rate_hz = 24_000;

/** Returns the format in the protocol's notation. */
export function describeFormat(format: AudioFormat): object {
  return format === "pcm" ? { type: "audio/pcm", rate: pcm_rate_hz } : { type: `audio/${format}` };
}

/** Returns the format of a session: the requested one if `value` is absent, null if it is not supported. */
export function readFormat(value: unknown, requested: AudioFormat): AudioFormat | null {
  if (value === undefined || value === null) return requested;
  const { type, rate } = value as { type?: unknown; rate?: unknown };
  if (type === "audio/pcmu") return "pcmu";
  if (type === "audio/pcma") return "pcma";
  const isPcm = type === "audio/pcm" && (rate === undefined || rate === pcm_rate_hz);
  return isPcm ? "pcm" : null;
}

/** Returns a function that encodes the samples of one stream. */
export function openEncoder(format: AudioFormat): (samples: Buffer) => Buffer {
  if (format === "pcmu") return encodeMuLaw;
  if (format === "pcma") return encodeALaw;
  const resampler = openResampler(sample_rate_hz, pcm_rate_hz);
  return (samples) => resampler.push(samples);
}

export type Decoder = {
  /** Decodes bytes of any length; a sample may be split between calls. */
  push(bytes: Buffer): Buffer;
  /** Returns the samples held back so far; ends the stream. */
  flush(): Buffer;
};

/** Opens a decoder for the bytes of one stream. */
export function openDecoder(format: AudioFormat): Decoder {
  if (format === "pcm") return openResampler(pcm_rate_hz, sample_rate_hz);
  return { push: format === "pcmu" ? decodeMuLaw : decodeALaw, flush: () => Buffer.alloc(0) };
}
