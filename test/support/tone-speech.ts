import type { SpeechDriver } from "../../server/drivers/speech/driver.ts";
import { bytes_per_ms, sample_rate_hz } from "../../server/lib/audio/audio.ts";

/** Speaks in a tone, 20 ms a character: for tests that listen to no words. */
export const toneSpeech: SpeechDriver = {
  voice: "tone",
  speak: ({ text }) => Promise.resolve(tone(text.length * 20)),
  recognize: null,
};

/** A tone of 440 Hz, as samples of lib/audio/audio.ts. */
export function tone(duration_ms: number): Buffer {
  const samples = Buffer.alloc(duration_ms * bytes_per_ms);
  for (let i = 0; i < samples.length / 2; i++) {
    const value = 8_000 * Math.sin((2 * Math.PI * 440 * i) / sample_rate_hz);
    samples.writeInt16LE(Math.round(value), i * 2);
  }
  return samples;
}
