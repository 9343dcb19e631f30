import { AudioError } from "../../lib/audio/audio-error.ts";
import { audio_limits, decodeAudio } from "../../lib/audio/decode-audio.ts";
import { decodeWav } from "../../lib/audio/wav.ts";
import { SpeechError } from "./driver.ts";

/** Larger files, about half a minute of audio, are decoded in a thread so that they do not block the process. */
const inline_bytes_max = 1_300_000;

/** The largest output of a synthesizer. */
export const speech_bytes_max = audio_limits.file_mb_max * 1_000_000;

/** Decodes a synthesizer's output, a WAV file of any sample rate. Throws SpeechError `failed`. */
export async function decodeSpeech(wav: Buffer): Promise<Buffer> {
  try {
    if (wav.length <= inline_bytes_max) return decodeWav(wav, audio_limits.duration_ms_max);
    return (await decodeAudio(wav)).samples;
  } catch (error) {
    if (!(error instanceof AudioError)) throw error;
    throw new SpeechError("failed", `invalid audio from the synthesizer: ${error.message}`);
  }
}
