// Collects the transcripts of what the realtime AI agent said, up to where it was interrupted.
import type { Conversation } from "../open-conversation.ts";

const items_max = 8;
const characters_max = 5_000;

export type Transcript = {
  /** Appends to the transcript of an item. */
  readonly append: (item: string, text: string) => void;
  /** Completes the transcript of an item. */
  readonly complete: (item: string, text: string) => void;
  /** Ends the transcript of an interrupted item: emits the text so far, followed by an ellipsis. */
  readonly interrupt: (item: string) => void;
};

export function openTranscript({ said }: Pick<Conversation, "said">): Transcript {
  /** The text of items in progress; null: the item's transcript is emitted. */
  const texts = new Map<string, string | null>();
  const put = (item: string, text: string | null) => {
    texts.set(item, text);
    if (texts.size > items_max) texts.delete(texts.keys().next().value ?? "");
  };
  return {
    append(item, text) {
      const before = texts.get(item);
      if (before !== null) put(item, `${before ?? ""}${text}`.slice(0, characters_max));
    },
    complete(item, text) {
      if (texts.get(item) === null) return;
      put(item, null);
      said("agent", text);
    },
    interrupt(item) {
      const text = texts.get(item);
      if (text === null) return;
      put(item, null);
      if (text !== undefined) said("agent", `${text.trimEnd()} …`);
    },
  };
}
