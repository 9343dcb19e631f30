// What turns text into speech and, where there is one, speech into text. A driver knows no feature and no SQL.

/** Bad text or a missing voice (`rejected`), or the synthesizer itself failed (`failed`: may work later). */
export class SpeechError extends Error {
  override readonly name = "SpeechError";
  readonly failure: "rejected" | "failed";
  constructor(failure: "rejected" | "failed", message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** What is said by which voice: a language as BCP 47 (`en`, `hi`, `en-IN`), 1-5,000 characters of text. */
export type Utterance = { readonly text: string; readonly language: string };

export type SpeechDriver = {
  /** Names what speaks, and changes when the same text would sound otherwise: part of a clip's name. */
  readonly voice: string;
  /** Samples of lib/audio/audio.ts. Throws SpeechError. */
  speak(utterance: Utterance): Promise<Buffer>;
  /** What was said, "" for nothing; null where nothing can understand speech. Throws SpeechError. */
  readonly recognize: ((samples: Buffer, language: string) => Promise<string>) | null;
};
