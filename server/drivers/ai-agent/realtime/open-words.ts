// What the agent said, in words, as far as it was said.
import type { Conversation } from "../open-conversation.ts";

const items_max = 8;
const characters_max = 5_000;

export type Words = {
  /** Some words more of an item. */
  readonly more: (item: string, text: string) => void;
  /** All words of an item. */
  readonly done: (item: string, text: string) => void;
  /** Its sound was cut off: what came until then is told, and that it was cut. */
  readonly cut: (item: string) => void;
};

export function openWords({ said }: Pick<Conversation, "said">): Words {
  /** Of items whose words are still coming; null: nothing more is told of it. */
  const texts = new Map<string, string | null>();
  const put = (item: string, text: string | null) => {
    texts.set(item, text);
    if (texts.size > items_max) texts.delete(texts.keys().next().value ?? "");
  };
  return {
    more(item, text) {
      const before = texts.get(item);
      if (before !== null) put(item, `${before ?? ""}${text}`.slice(0, characters_max));
    },
    done(item, text) {
      if (texts.get(item) === null) return;
      put(item, null);
      said("agent", text);
    },
    cut(item) {
      const text = texts.get(item);
      if (text === null) return;
      put(item, null);
      if (text !== undefined) said("agent", `${text.trimEnd()} …`);
    },
  };
}
