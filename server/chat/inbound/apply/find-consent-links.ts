// The links of phones and BSUIDs that opt-outs, opt-ins and moves of customers show.
import type { BsuidLink } from "../../../audience/suppressions/link-bsuids.ts";
import { statement, type Executor } from "../../../lib/database/database.ts";
import type { SideEffect } from "./sort-webhooks.ts";

// Erased recipients have no phone.
const findAnswered = statement<{
  provider_message_id: string;
  campaign_id: number;
  recipient_id: number;
  phone: string;
}>(`
  select provider_message_id, campaign_id, id as recipient_id, phone from chat_recipients
  where account_id = $1 and provider_message_id = any ($2) and phone <> ''`);

/**
 * Returns the links that side effects show: the sender of a stop word without a phone is the person whose message it
 * answers, and a move may name both identities, old and new.
 */
export async function findConsentLinks(
  db: Executor,
  accountId: number,
  side_effects: readonly SideEffect[],
): Promise<BsuidLink[]> {
  const moved = side_effects.flatMap((one) =>
    one.kind === "moved" ? [one.before, one.after] : [],
  );
  const known = moved.flatMap(({ from: phone, bsuid }) =>
    phone === null || bsuid === null ? [] : [{ phone, bsuid }],
  );
  const answers = side_effects.flatMap((one) => {
    if (!("reply" in one)) return [];
    const { from, bsuid, parent_bsuid, answers: message } = one.reply;
    if (from !== null || message === null) return [];
    return [bsuid ?? [], parent_bsuid ?? []].flat().map((id) => ({ bsuid: id, message }));
  });
  if (answers.length === 0) return known;
  const found = await findAnswered(db, [accountId, answers.map(({ message }) => message)]);
  const recipients = new Map(found.map((one) => [one.provider_message_id, one]));
  const answered = answers.flatMap(({ bsuid, message }) => {
    const recipient = recipients.get(message);
    return recipient ? [{ bsuid, phone: recipient.phone, recipients: [recipient] }] : [];
  });
  return [...known, ...answered];
}
