// The thread that decodes one file: sound that is broken on purpose breaks nothing but this.
import { parentPort, workerData } from "node:worker_threads";
import { AudioRefused } from "./audio-refused.ts";
import { decodeMp3 } from "./decode-mp3.ts";
import { decodeOpus } from "./decode-opus.ts";
import { decodeVorbis } from "./decode-vorbis.ts";
import { gatherSamples, type SampleGatherer } from "./gather-samples.ts";
import type { AudioKind } from "./sniff-audio.ts";
import { readWav } from "./wav.ts";

/** What the thread is started with. */
export type DecodeThreadData = {
  readonly file: Uint8Array;
  readonly kind: AudioKind;
  readonly duration_ms_max: number;
};

/** What it tells, once. */
export type DecodeThreadMessage =
  | { readonly kind: "decoded"; readonly samples: Uint8Array<ArrayBuffer> }
  | { readonly kind: "refused"; readonly reason: string };

const decoders = {
  wav: async (file: Buffer, sound: SampleGatherer) => readWav(file, sound),
  mp3: decodeMp3,
  opus: decodeOpus,
  vorbis: decodeVorbis,
} as const satisfies Record<AudioKind, (file: Buffer, sound: SampleGatherer) => Promise<void>>;

const port = parentPort!;
try {
  tell({ kind: "decoded", samples: await decode(workerData as DecodeThreadData) });
} catch (error) {
  if (!(error instanceof AudioRefused)) throw error;
  tell({ kind: "refused", reason: error.message });
}
port.close();

async function decode({
  file,
  kind,
  duration_ms_max,
}: DecodeThreadData): Promise<Uint8Array<ArrayBuffer>> {
  const sound = gatherSamples(duration_ms_max);
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.byteLength);
  try {
    await decoders[kind](bytes, sound);
  } catch (error) {
    if (error instanceof AudioRefused) throw error;
    // A decoder stumbled over the file: as in any player, what came before counts.
    if (sound.isEmpty()) throw new AudioRefused("it is damaged");
  }
  return new Uint8Array(sound.samples());
}

function tell(message: DecodeThreadMessage): void {
  port.postMessage(message, message.kind === "decoded" ? [message.samples.buffer] : []);
}
