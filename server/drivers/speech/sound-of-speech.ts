import { AudioRefused } from "../../lib/audio/audio-refused.ts";
import { audio_limits, decodeAudio } from "../../lib/audio/decode-audio.ts";
import { samplesOfWav } from "../../lib/audio/wav.ts";
import { SpeechError } from "./driver.ts";

/** Of more than this, or half a minute, the conversion would hold up what else the process does. */
const inline_bytes_max = 1_300_000;

/** The most that a speaker may answer. */
export const speech_bytes_max = audio_limits.file_mb_max * 1_000_000;

/** The samples of what a speaker answered, a WAV file of any rate. Throws SpeechError `failed`. */
export async function soundOfSpeech(wav: Buffer): Promise<Buffer> {
  try {
    if (wav.length <= inline_bytes_max) return samplesOfWav(wav, audio_limits.duration_ms_max);
    return (await decodeAudio(wav)).samples;
  } catch (error) {
    if (!(error instanceof AudioRefused)) throw error;
    throw new SpeechError("failed", `of what the speaker answered: ${error.message}`);
  }
}
