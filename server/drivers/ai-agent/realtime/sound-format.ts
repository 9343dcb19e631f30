// The formats of sound that a session may have, to and from the samples of lib/audio/audio.ts.
import { sample_rate_hz } from "../../../lib/audio/audio.ts";
import { decodeALaw, decodeMuLaw, encodeALaw, encodeMuLaw } from "../../../lib/audio/g711.ts";
import { openResampler } from "../../../lib/audio/resample.ts";

export type SoundFormat = "pcmu" | "pcma" | "pcm";

const pcm_rate_hz = 24_000;

/** As the protocol names it. */
export function nameFormat(format: SoundFormat): object {
  return format === "pcm" ? { type: "audio/pcm", rate: pcm_rate_hz } : { type: `audio/${format}` };
}

/** The format that a session was given; what was asked for when it does not say; null for one we cannot speak. */
export function readFormat(told: unknown, asked: SoundFormat): SoundFormat | null {
  if (told === undefined || told === null) return asked;
  const { type, rate } = told as { type?: unknown; rate?: unknown };
  if (type === "audio/pcmu") return "pcmu";
  if (type === "audio/pcma") return "pcma";
  const isPcm = type === "audio/pcm" && (rate === undefined || rate === pcm_rate_hz);
  return isPcm ? "pcm" : null;
}

/** Turns our samples into the bytes of one stream. */
export function openEncoder(format: SoundFormat): (samples: Buffer) => Buffer {
  if (format === "pcmu") return encodeMuLaw;
  if (format === "pcma") return encodeALaw;
  const resampler = openResampler(sample_rate_hz, pcm_rate_hz);
  return (samples) => resampler.push(samples);
}

export type Decoder = {
  /** Any length: a sample may be cut in two. */
  push(bytes: Buffer): Buffer;
  /** What was kept back until more came; nothing may be pushed any more. */
  rest(): Buffer;
};

/** Turns the bytes of one stream into our samples. */
export function openDecoder(format: SoundFormat): Decoder {
  if (format === "pcm") return openResampler(pcm_rate_hz, sample_rate_hz);
  return { push: format === "pcmu" ? decodeMuLaw : decodeALaw, rest: () => Buffer.alloc(0) };
}
