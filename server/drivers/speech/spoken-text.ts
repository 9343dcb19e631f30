import { SpeechError, type Utterance } from "./driver.ts";

const characters_max = 5_000;

/**
 * The text as a synthesizer may be given it: without control characters, which some take for commands, and
 * without the [[ of eSpeak's phonemes. Throws SpeechError for what cannot be said.
 */
export function spokenText({ text, language }: Utterance): string {
  checkLanguage(language);
  const cleaned = text
    .toWellFormed()
    .replaceAll(/[\u2028\u2029]/g, "\n")
    .replaceAll(/[^\P{Cc}\n]/gu, " ")
    .replaceAll("[[", "[ [")
    .trim();
  if (cleaned === "") throw new SpeechError("rejected", "there is nothing to say");
  if (Array.from(text).length > characters_max)
    throw new SpeechError("rejected", `it is longer than ${characters_max} characters`);
  return cleaned;
}

/** Throws SpeechError for what is no language: it becomes a part of a command. */
export function checkLanguage(language: string): void {
  if (!/^[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3}$/i.test(language))
    throw new SpeechError("rejected", `"${language}" is no language`);
}

/** In whose voices something in this language may be said, the best first: `pt-BR`, `pt`, `en`. */
export function voicesFor(language: string): readonly string[] {
  return [...new Set([language, language.split("-")[0]!.toLowerCase(), "en"])];
}
