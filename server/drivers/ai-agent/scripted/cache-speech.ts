// Shares synthesized texts, because the scripted AI agents of a campaign say the same to every recipient.
import type { Synthesizer, Utterance } from "../../speech/driver.ts";

/** About 17 minutes of audio. */
const kept_bytes_max = 16_777_216;

/** Synthesizes and shares an owner's recent and running requests, least recently used last; drops failures. */
export function cacheSpeech(): (by: Synthesizer, utterance: Utterance) => Promise<Buffer> {
  const cached = new Map<string, { readonly samples: Promise<Buffer>; bytes: number }>();
  let kept_bytes = 0;
  const evict = (key: string) => {
    kept_bytes -= cached.get(key)?.bytes ?? 0;
    cached.delete(key);
  };
  return (by, utterance) => {
    const key = JSON.stringify([by.owner, utterance.language, utterance.text]);
    const found = cached.get(key);
    if (found) {
      // The most recently used entry is evicted last.
      cached.delete(key);
      cached.set(key, found);
      return found.samples;
    }
    const samples = by.synthesize(utterance);
    const entry = { samples, bytes: 0 };
    cached.set(key, entry);
    const keep = ({ length }: Buffer) => {
      // Evicted during the synthesis.
      if (cached.get(key) !== entry) return;
      entry.bytes = length;
      kept_bytes += length;
      for (const oldest of cached.keys()) {
        if (kept_bytes <= kept_bytes_max) break;
        evict(oldest);
      }
    };
    samples.then(keep, () => void (cached.get(key) === entry && evict(key)));
    return samples;
  };
}
