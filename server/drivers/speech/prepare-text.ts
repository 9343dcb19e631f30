import { SpeechError, type Utterance } from "./driver.ts";

const characters_max = 5_000;

/**
 * Removes control characters, which some synthesizers treat as commands, and the [[ of eSpeak's phonemes. Throws
 * SpeechError `rejected` if the text is empty or too long or the language is invalid.
 */
export function prepareText({ text, language }: Utterance): string {
  checkLanguage(language);
  const cleaned = text
    .toWellFormed()
    .replaceAll(/[\u2028\u2029]/g, "\n")
    .replaceAll(/[^\P{Cc}\n]/gu, " ")
    .replaceAll("[[", "[ [")
    .trim();
  if (cleaned === "") throw new SpeechError("rejected", "the text must not be empty");
  if (Array.from(text).length > characters_max)
    throw new SpeechError("rejected", `the text must have at most ${characters_max} characters`);
  return cleaned;
}

/** Throws SpeechError `rejected` unless this is a language tag, because it becomes part of a command. */
export function checkLanguage(language: string): void {
  if (!/^[a-z]{2,3}(?:-[a-z0-9]{2,8}){0,3}$/i.test(language))
    throw new SpeechError("rejected", `"${language}" is not a valid language tag`);
}

/** Returns the voices to try for a language, best first: `pt-BR`, `pt`, `en`. */
export function voicesFor(language: string): readonly string[] {
  return [...new Set([language, language.split("-")[0]!.toLowerCase(), "en"])];
}
