// Sound that people upload becomes sound that calls carry. Each file is decoded in a thread of its own,
// with limits on its memory, its time and what it may grow to.
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { openSlots } from "../slots.ts";
import { AudioRefused } from "./audio-refused.ts";
import { bytes_per_ms } from "./audio.ts";
import type { DecodeThreadData, DecodeThreadMessage } from "./decode-thread.ts";
import { sniffAudio, type AudioKind } from "./sniff-audio.ts";

export type DecodedAudio = {
  /** Samples of clip.ts; at least one. */
  readonly samples: Buffer;
  readonly duration_ms: number;
  readonly format: "wav" | "mp3" | "ogg";
};

export type AudioLimits = {
  readonly file_mb_max: number;
  readonly duration_ms_max: number;
  readonly work_seconds_max: number;
};

/** What one file may be, and may cost. */
export const audio_limits: AudioLimits = {
  file_mb_max: 50,
  duration_ms_max: 15 * 60_000,
  work_seconds_max: 300,
};

const heap_mb_max = 128;
const at_once_max = 2;
const waiting_max = 64;
const slots = openSlots(at_once_max, waiting_max);

const formats = { wav: "wav", mp3: "mp3", opus: "ogg", vorbis: "ogg" } as const;

/**
 * The sound of a WAV, MP3, Ogg Opus or Ogg Vorbis file, known by its content. What is damaged in its middle
 * is left out. Throws AudioRefused for what is none of them, is too large or long, or has no sound. Two are
 * decoded at once; 503 when 64 wait.
 */
export async function decodeAudio(file: Buffer, limits = audio_limits): Promise<DecodedAudio> {
  if (file.length > limits.file_mb_max * 1_000_000)
    throw new AudioRefused(`it is larger than ${limits.file_mb_max} MB`);
  const kind = sniffAudio(file);
  if (kind === null) throw new AudioRefused("it is not a WAV, MP3 or Ogg (Opus, Vorbis) file");
  const samples = await slots.use(() => decodeInThread(file, kind, limits));
  const duration_ms = Math.ceil(samples.length / bytes_per_ms);
  return { samples, duration_ms, format: formats[kind] };
}

async function decodeInThread(file: Buffer, kind: AudioKind, limits: AudioLimits): Promise<Buffer> {
  // A copy: a Buffer may be a part of a shared pool, which cannot be handed over.
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
    // Decoders write of what they stumble over; nobody wants to read it.
    stdout: true,
    stderr: true,
  });
  thread.stdout.resume();
  thread.stderr.resume();
  const signal = AbortSignal.timeout(limits.work_seconds_max * 1_000);
  try {
    const [message] = (await once(thread, "message", { signal })) as [DecodeThreadMessage];
    if (message.kind === "refused") throw new AudioRefused(message.reason);
    const { buffer, byteOffset, byteLength } = message.samples;
    return Buffer.from(buffer, byteOffset, byteLength);
  } catch (error) {
    if (signal.aborted) throw new AudioRefused("it takes too long to decode");
    if ((error as NodeJS.ErrnoException).code === "ERR_WORKER_OUT_OF_MEMORY")
      throw new AudioRefused("it takes too much memory to decode");
    throw error;
  } finally {
    await thread.terminate();
  }
}
