// Decodes uploaded audio files to the format of calls. Each file is decoded in its own thread, with limits on
// memory, time and decoded length.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { openSlots } from "../slots.ts";
import { AudioError } from "./audio-error.ts";
import { bytes_per_ms } from "./audio.ts";
import type { DecodeThreadData, DecodeThreadMessage } from "./decode-thread.ts";
import { sniffAudio, type AudioKind } from "./sniff-audio.ts";

export type DecodedAudio = {
  /** In the format of audio.ts; at least one sample. */
  readonly samples: Buffer;
  readonly duration_ms: number;
  readonly format: "wav" | "mp3" | "ogg";
};

export type AudioLimits = {
  readonly file_mb_max: number;
  readonly duration_ms_max: number;
  readonly work_seconds_max: number;
};

/** The limits for one file. */
export const audio_limits: AudioLimits = {
  file_mb_max: 50,
  duration_ms_max: 15 * 60_000,
  work_seconds_max: 300,
};

const heap_mb_max = 128;
const concurrent_max = 2;
const waiting_max = 64;
const slots = openSlots(concurrent_max, waiting_max);

const formats = { wav: "wav", mp3: "mp3", opus: "ogg", vorbis: "ogg" } as const;

/**
 * Decodes a WAV, MP3, Ogg Opus or Ogg Vorbis file, recognized by its content; skips damaged parts. Decodes
 * two files at a time and queues 64 more; beyond that, throws 503. Throws AudioError for another format, a
 * file that is too large or too long, and one without audio.
 */
export async function decodeAudio(file: Buffer, limits = audio_limits): Promise<DecodedAudio> {
  if (file.length > limits.file_mb_max * 1_000_000)
    throw new AudioError(`the file must be at most ${limits.file_mb_max} MB`);
  const kind = sniffAudio(file);
  if (kind === null) throw new AudioError("the file must be WAV, MP3 or Ogg (Opus, Vorbis)");
  const samples = await slots.use(() => decodeInThread(file, kind, limits));
  const duration_ms = Math.ceil(samples.length / bytes_per_ms);
  return { samples, duration_ms, format: formats[kind] };
}

async function decodeInThread(file: Buffer, kind: AudioKind, limits: AudioLimits): Promise<Buffer> {
  // A copy, because a Buffer may be part of a shared pool, which cannot be transferred.
  const copy = new Uint8Array(file);
  const workerData: DecodeThreadData = {
    file: copy,
    kind,
    duration_ms_max: limits.duration_ms_max,
  };
  const thread = new Worker(new URL("./decode-thread.ts", import.meta.url), {
    workerData,
    transferList: [copy.buffer],
    resourceLimits: { maxOldGenerationSizeMb: heap_mb_max },
    // Decoders print warnings; discard them.
    stdout: true,
    stderr: true,
  });
  thread.stdout.resume();
  thread.stderr.resume();
  const signal = AbortSignal.timeout(limits.work_seconds_max * 1_000);
  try {
    const [message] = (await once(thread, "message", { signal })) as [DecodeThreadMessage];
    if (message.kind === "rejected") throw new AudioError(message.reason);
    const { buffer, byteOffset, byteLength } = message.samples;
    return Buffer.from(buffer, byteOffset, byteLength);
  } catch (error) {
    if (signal.aborted) throw new AudioError("the file takes too long to decode");
    if ((error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY")
      throw new AudioError("the file takes too much memory to decode");
    throw error;
  } finally {
    await thread.terminate();
  }
}
