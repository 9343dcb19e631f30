import type { SpeechDriver, Synthesizer } from "../../server/drivers/speech/driver.ts";
import { bytes_per_ms, sample_rate_hz } from "../../server/lib/audio/audio.ts";

/** A speech driver that synthesizes a tone of 20 ms per character, for tests that ignore the words. */
export const toneSpeech: SpeechDriver = {
  voice: "tone",
  synthesize: ({ text }) => Promise.resolve(tone(text.length * 20)),
  recognize: null,
};

/** Synthesizes such a tone for one owner. */
export const toneSynthesizer: Synthesizer = { owner: "1", synthesize: toneSpeech.synthesize };

/** Returns a tone of 440 Hz in the sample format of lib/audio/audio.ts. */
export function tone(duration_ms: number): Buffer {
  const samples = Buffer.alloc(duration_ms * bytes_per_ms);
  for (let i = 0; i < samples.length / 2; i++) {
    const value = 8_000 * Math.sin((2 * Math.PI * 440 * i) / sample_rate_hz);
    samples.writeInt16LE(Math.round(value), i * 2);
  }
  return samples;
}
