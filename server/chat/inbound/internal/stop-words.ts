// Recognizes the replies by which a customer opts out, or in again.
import type { WebhookEvent } from "../../../drivers/chat/driver.ts";
import { start_replies, stop_words, whole_stop_replies } from "./stop-word-lists.ts";

/** What a reply asks for; null: neither. */
export type ConsentChange = "stop" | "start" | null;

type Reply = Pick<Extract<WebhookEvent, { kind: "reply" }>, "type" | "text" | "payload">;
type Words = readonly string[];

/** Thai, Chinese and Japanese have no spaces between words. */
const segmenter = new Intl.Segmenter("en", { granularity: "word" });
/** Longer texts are read at both ends only. */
const end_characters = 200;

const stop_phrases = phrases(stop_words);
const whole_stops = new Set(whole_stop_replies.concat(stop_words).map(keyOf));
const starts = new Set(start_replies.map(keyOf));

/**
 * Returns a function that recognizes opt-outs and opt-ins. It ignores case, width, accents, punctuation and invisible
 * characters. A typed text opts out if it begins or ends with a stop word, of the built-in list or of the account's
 * `own`. A button opts out only if its payload is a built-in stop word and nothing else, so that a template's "Cancel"
 * does not. Only a typed text opts in, and only as a whole.
 */
export function openConsentReader(own: readonly string[]): (reply: Reply) => ConsentChange {
  const own_phrases = phrases(own);
  return ({ type, text, payload }) => {
    if (type === "button" || type === "interactive") {
      const pressed = keyOf(payload ?? text ?? "");
      return whole_stops.has(pressed) ? "stop" : null;
    }
    if (text === null) return null;
    const [first, last] = endsOf(text);
    const whole = first.join(" ");
    if (whole_stops.has(whole) && text.length <= end_characters) return "stop";
    if (startsOrEnds(first, last, stop_phrases) || startsOrEnds(first, last, own_phrases))
      return "stop";
    return starts.has(whole) && text.length <= end_characters ? "start" : null;
  };
}

/** Returns the words at the beginning and at the end of a text, which are all of a short one. */
function endsOf(text: string): readonly [Words, Words] {
  if (text.length <= end_characters) {
    const words = wordsOf(text);
    return [words, words];
  }
  return [wordsOf(text.slice(0, end_characters)), wordsOf(text.slice(-end_characters))];
}

/** Phrases by their first and by their last word. */
type Phrases = {
  readonly byFirst: ReadonlyMap<string, readonly Words[]>;
  readonly byLast: ReadonlyMap<string, readonly Words[]>;
};

function phrases(texts: readonly string[]): Phrases {
  const all = texts.map(wordsOf).filter(({ length }) => length > 0);
  return {
    byFirst: Map.groupBy(all, (words) => words[0]!),
    byLast: Map.groupBy(all, (words) => words.at(-1)!),
  };
}

function startsOrEnds(first: Words, last: Words, { byFirst, byLast }: Phrases): boolean {
  const isAt = (words: Words, phrase: Words, from: number) =>
    from >= 0 && phrase.every((word, i) => words[from + i] === word);
  return (
    (byFirst.get(first[0] ?? "") ?? []).some((phrase) => isAt(first, phrase, 0)) ||
    (byLast.get(last.at(-1) ?? "") ?? []).some((phrase) =>
      isAt(last, phrase, last.length - phrase.length),
    )
  );
}

function keyOf(text: string): string {
  return wordsOf(text).join(" ");
}

/**
 * Returns the words of a text in one spelling: compatibility forms unified ("Ｓｔｏｐ"), without invisible characters,
 * Latin and Arabic diacritics and the Arabic tatweel.
 */
function wordsOf(text: string): Words {
  const letters = text
    .normalize("NFKD")
    // Upper case first, because it merges more spellings than lower case ("ß" and "SS").
    .toUpperCase()
    .toLowerCase()
    .replaceAll(/\p{Default_Ignorable_Code_Point}|[\u0300-\u036f\u064b-\u065f\u0670\u0640]/gu, "")
    .normalize("NFC")
    .replaceAll(/[^\p{L}\p{M}\p{N}]+/gu, " ")
    .trim();
  return letters.split(" ").flatMap((word) =>
    // The segmenter is slow, and splits only what has no spaces.
    /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(word)
      ? [...segmenter.segment(word)].map(({ segment }) => segment)
      : word === ""
        ? []
        : [word],
  );
}
