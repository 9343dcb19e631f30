// What the scripted agents of a campaign say is the same for everybody they call: it is spoken once.
import type { SpeechDriver } from "../../speech/driver.ts";

/** Some 17 minutes of speech. */
const kept_bytes_max = 16_777_216;

/** Speaks like `speech`, and shares what was spoken lately or is being spoken just now; failures are not kept. */
export function rememberSpeech(speech: SpeechDriver): SpeechDriver["speak"] {
  const spoken = new Map<string, { readonly samples: Promise<Buffer>; bytes: number }>();
  let kept_bytes = 0;
  const forget = (key: string) => {
    kept_bytes -= spoken.get(key)?.bytes ?? 0;
    spoken.delete(key);
  };
  return (utterance) => {
    const key = JSON.stringify([speech.voice, utterance.language, utterance.text]);
    const found = spoken.get(key);
    if (found) {
      // The one that was asked for last is forgotten last.
      spoken.delete(key);
      spoken.set(key, found);
      return found.samples;
    }
    const samples = speech.speak(utterance);
    const entry = { samples, bytes: 0 };
    spoken.set(key, entry);
    const keep = ({ length }: Buffer) => {
      // Forgotten while it was being spoken.
      if (spoken.get(key) !== entry) return;
      entry.bytes = length;
      kept_bytes += length;
      for (const oldest of spoken.keys()) {
        if (kept_bytes <= kept_bytes_max) break;
        forget(oldest);
      }
    };
    samples.then(keep, () => void (spoken.get(key) === entry && forget(key)));
    return samples;
  };
}
