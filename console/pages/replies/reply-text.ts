import type { Reply } from "../../api/replies.ts";

const kinds: Readonly<Record<string, string>> = {
  image: "Picture",
  video: "Video",
  audio: "Voice message",
  voice: "Voice message",
  document: "Document",
  sticker: "Sticker",
  location: "Place",
  contacts: "Contacts",
  reaction: "Reaction",
  order: "Order",
};

/** What a person wrote, or of what kind it is. */
export function replyText({ text, payload, type }: Reply): string {
  return text ?? payload ?? kinds[type] ?? type;
}

/** Who wrote it, as a page's address and a name for it; null while WhatsApp withholds the number. */
export function phoneOf({ phone_number }: Reply): string | null {
  return phone_number === null || phone_number === "" ? null : `+${phone_number}`;
}

/** Whether an answer was sent, or may have been: one that failed did not reach the person. */
export function isAnswered({ answers }: Reply): boolean {
  return answers.some(({ outcome }) => outcome !== "failed");
}

/** Who wrote it, as the address of their conversation: a phone, or a BSUID; null if the person was erased. */
export function personOf(reply: Reply): string | null {
  return phoneOf(reply) ?? (reply.bsuid || null);
}

/** Sorts replies by when they were written: the provider may report an older one later. */
export function newestFirst(replies: readonly Reply[]): readonly Reply[] {
  return replies.toSorted((a, b) => b.received_at.localeCompare(a.received_at));
}

/** Returns the last of these messages of each person, newest first. */
export function latestOfEach(replies: readonly Reply[]): readonly Reply[] {
  const latest = new Map<string, Reply>();
  for (const reply of newestFirst(replies)) {
    const key = personOf(reply) ?? String(reply.id);
    if (!latest.has(key)) latest.set(key, reply);
  }
  return [...latest.values()];
}
