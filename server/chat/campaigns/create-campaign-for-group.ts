// Creates a campaign for the members of a saved group.
import { findGroup } from "../../audience/groups/groups.ts";
import { openGroupMembers, type GroupMember } from "../../audience/groups/group-members.ts";
import type { App } from "../../engine/app.ts";
import { openPhoneReader } from "../../lib/chat-phone-numbers.ts";
import type { FieldError } from "../../lib/errors.ts";
import type { CampaignHead, ChatCampaignAnswer } from "./chat-campaign-schema.ts";
import {
  noValidContacts,
  statement_seconds,
  writeCampaign,
  type CampaignOwner,
  type CampaignWrites,
} from "./create-chat-campaign.ts";
import { wakeSenders } from "../numbers/wake-senders.ts";
import { gatherRows } from "./intake/gather-recipients.ts";
import { recipients_max } from "./intake/limits.ts";
import { openLineWriter } from "./intake/recipient-lines.ts";
import { affordableRecipients, insufficientCredit } from "./intake/refuse-without-credit.ts";
import { storeLines, storeRows } from "./intake/store-recipients.ts";
import { openTrimming, type Trimming } from "./intake/trim-numbers.ts";
import { variablesText } from "./intake/variables-text.ts";
import { validateCampaign } from "./validate-campaign.ts";

/** A group of so many is stored in one statement, beside other writes. */
const small_members_max = 5_000;

/**
 * The campaign of a group, each member with their own variables. Refuses as createChatCampaign does;
 * validation-failed on `group_id` when the account has no such group, or it is too large.
 */
export async function createCampaignForGroup(
  app: App,
  { account, actor }: CampaignOwner,
  writes: CampaignWrites,
  { group_id, ...head }: CampaignHead & { readonly group_id: number | string },
): Promise<ChatCampaignAnswer> {
  const now = app.clock.now();
  const group = await findGroup(app.db.query, account.id, Number(group_id));
  const source_violations: FieldError[] = [];
  if (!group) source_violations.push({ field: "group_id", reason: "is no group of this account" });
  else if (group.members_count > recipients_max)
    source_violations.push({
      field: "group_id",
      reason: `has more than ${recipients_max} members`,
    });
  const has_recipients = true;
  const order = await validateCampaign(app.db.query, account, head, {
    has_recipients,
    source_violations,
    now,
  });
  const { id, members_count } = group!;
  if (members_count === 0) throw noValidContacts({ invalid: 0, duplicate: 0 });
  const affordable = await affordableRecipients(app.db.query, account.id, now);
  const trimming = openTrimming(openPhoneReader({ valid_only: account.chat_valid_numbers_only }));
  const stored = () => {
    const { valid, ...trimmed } = trimming.counts();
    if (valid > affordable) throw insufficientCredit();
    return { stored: valid, ...trimmed };
  };
  const answer =
    members_count <= small_members_max
      ? await writes.write((tx) =>
          writeCampaign(tx, actor, order, now, async (_tx, place) => {
            const { sink, end } = gatherRows();
            const members = openGroupMembers(tx, account.id, id);
            for await (const batch of members) take(trimming, batch, sink);
            const counts = stored();
            const { phones, variables } = end();
            await storeRows(tx, place, phones, variables);
            return counts;
          }),
        )
      : await writes.writeWithClient(statement_seconds, (tx, client) =>
          writeCampaign(tx, actor, order, now, async (_tx, place) => {
            // Not on the connection of the COPY.
            const members = openGroupMembers(app.db.pool, account.id, id);
            const lines = linesOf(members, account.id, trimming, stored);
            await storeLines(client, place, lines, statement_seconds);
            return stored();
          }),
        );
  wakeSenders(app, account.id, [order.chat_number_id]);
  return answer;
}

async function* linesOf(
  members: AsyncIterable<readonly GroupMember[]>,
  accountId: number,
  trimming: Trimming,
  validate: () => unknown,
): AsyncGenerator<Uint8Array> {
  const writer = openLineWriter(accountId);
  for await (const batch of members) {
    take(trimming, batch, writer);
    validate();
    const lines = writer.take(true);
    if (lines) yield lines;
  }
}

function take(
  trimming: Trimming,
  members: readonly GroupMember[],
  sink: { add(phone: string, variables: string | null): void },
): void {
  for (const { phone, variables } of members) {
    const digits = trimming.take(phone);
    const text = variablesText(variables);
    if (digits !== null) sink.add(digits, text === "{}" ? null : text);
  }
}
