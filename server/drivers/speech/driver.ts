// The interface of text-to-speech and speech recognition. A driver knows no feature and no SQL.

/** A failed request: `rejected` for invalid text or language, `failed` when the engine failed and a retry may work. */
export class SpeechError extends Error {
  override readonly name = "SpeechError";
  readonly failure: "rejected" | "failed";
  constructor(failure: "rejected" | "failed", message: string, options?: ErrorOptions) {
    super(message, options);
    this.failure = failure;
  }
}

/** A text of 1-5,000 characters and its language as a BCP 47 tag (`en`, `hi`, `en-IN`). */
export type Utterance = { readonly text: string; readonly language: string };

/** The text-to-speech of one owner, such as an account, whose texts wait for its share. */
export type Synthesizer = {
  readonly owner: string;
  readonly synthesize: SpeechDriver["synthesize"];
};

export type SpeechDriver = {
  /** Identifies the voice; changes when the same text would sound different. Part of the name of synthesized audio. */
  readonly voice: string;
  /** Synthesizes a text into samples of lib/audio/audio.ts. Throws SpeechError. */
  synthesize(utterance: Utterance): Promise<Buffer>;
  /** Transcribes speech, "" for none; null without speech recognition. Throws SpeechError. */
  readonly recognize: ((samples: Buffer, language: string) => Promise<string>) | null;
};
