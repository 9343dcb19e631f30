// Recognizes the replies by which a customer opts out, or in again.
import type { WebhookEvent } from "../../../drivers/chat/driver.ts";
import { courtesy_words, stop_words } from "./stop-word-lists.ts";
import { start_replies, stop_promotions_buttons, whole_stop_replies } from "./whole-reply-lists.ts";

/** What a reply asks for; null: neither. */
export type ConsentChange = "stop" | "start" | null;

type Reply = Pick<Extract<WebhookEvent, { kind: "reply" }>, "type" | "text" | "payload">;
type Words = readonly string[];

/** Thai, Chinese and Japanese have no spaces between words. */
const segmenter = new Intl.Segmenter("en", { granularity: "word" });
/** Longer texts are read at both ends only. */
const end_characters = 200;

/** Letters that keep their stroke in Unicode's normal forms, and what is typed for them without it. */
const without_stroke: Readonly<Record<string, string>> = { đ: "d", ł: "l", ø: "o" };

const stop_phrases = phrases(stop_words);
const whole_stops = keys([...whole_stop_replies, ...stop_promotions_buttons, ...stop_words]);
const starts = keys(start_replies);
const courtesies = new Set(courtesy_words);

/**
 * Returns a function that recognizes opt-outs and opt-ins. It ignores case, width, accents, punctuation and invisible
 * characters. A typed text opts out if it begins or ends with a stop word, of the built-in list or of the account's
 * `own`; "please" may precede it. A button opts out only if its payload is a built-in stop word and nothing else, so
 * that a template's "Cancel" does not. Only a typed text opts in, and only as a whole.
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
    const asked = withoutCourtesy(first);
    const isWhole = (of: ReadonlySet<string>, words: Words) =>
      text.length <= end_characters && of.has(words.join(" "));
    if (isWhole(whole_stops, asked)) return "stop";
    const isAtAnEnd = (of: Phrases) =>
      startsWith(first, of) || startsWith(asked, of) || endsWith(last, of);
    if (isAtAnEnd(stop_phrases) || isAtAnEnd(own_phrases)) return "stop";
    return isWhole(starts, first) ? "start" : null;
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
  const all = texts.flatMap(spellingsOf).filter(({ length }) => length > 0);
  return {
    byFirst: Map.groupBy(all, (words) => words[0]!),
    byLast: Map.groupBy(all, (words) => words.at(-1)!),
  };
}

function startsWith(words: Words, { byFirst }: Phrases): boolean {
  const some = byFirst.get(words[0] ?? "") ?? [];
  return some.some((phrase) => isAt(words, phrase, 0));
}

function endsWith(words: Words, { byLast }: Phrases): boolean {
  const some = byLast.get(words.at(-1) ?? "") ?? [];
  return some.some((phrase) => isAt(words, phrase, words.length - phrase.length));
}

function isAt(words: Words, phrase: Words, from: number): boolean {
  return from >= 0 && phrase.every((word, i) => words[from + i] === word);
}

function withoutCourtesy(words: Words): Words {
  const from = words.findIndex((word) => !courtesies.has(word));
  return words.slice(from < 0 ? words.length : from);
}

/**
 * Returns the words of a listed text with their strokes and without. A reply keeps its own: "đúng" (right), often the
 * whole reply, would be "dừng" (stop).
 */
function spellingsOf(text: string): readonly Words[] {
  const words = wordsOf(text);
  const plain = words.map((word) => word.replaceAll(/[đłø]/g, (letter) => without_stroke[letter]!));
  return [words, plain];
}

function keys(texts: readonly string[]): ReadonlySet<string> {
  return new Set(texts.flatMap(spellingsOf).map((words) => words.join(" ")));
}

function keyOf(text: string): string {
  return wordsOf(text).join(" ");
}

/**
 * Returns the words of a text in one spelling: compatibility forms ("Ｓｔｏｐ") and the yeh and kaf of Arabic and Persian
 * keyboards unified, "don't" as "dont", without invisible characters, Latin and Arabic diacritics and the Arabic tatweel.
 */
function wordsOf(text: string): Words {
  const letters = text
    // Not other apostrophes: "d'arrêter" is two words.
    .replaceAll(/(?<=n)['’‘ʼ´`＇](?=t\b)/gi, "")
    .normalize("NFKD")
    // Upper case first, because it merges more spellings than lower case ("ß" and "SS").
    .toUpperCase()
    .toLowerCase()
    .replaceAll(/\p{Default_Ignorable_Code_Point}|[\u0300-\u036f\u064b-\u065f\u0670\u0640]/gu, "")
    .normalize("NFC")
    .replaceAll(/[\u0649\u06cc]/g, "\u064a")
    .replaceAll("\u06a9", "\u0643")
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
