// Creates a campaign for the members of a saved group.
import { findGroup } from "../../audience/groups/groups.ts";
import { recipients_max } from "../../audience/intake/limits.ts";
import { openBatchSource, readGroup } from "../../audience/recipients/recipient-source.ts";
import type { CampaignWrites } from "../../audience/recipients/write-with-recipients.ts";
import type { App } from "../../engine/app.ts";
import { openPhoneReader } from "../../lib/chat-phone-numbers.ts";
import type { FieldError } from "../../lib/errors.ts";
import type { CampaignHead, ChatCampaignResponse } from "./chat-campaign-schema.ts";
import { submitCampaign, type CampaignOwner } from "./create-chat-campaign.ts";
import { affordableRecipients, withinCredit } from "./intake/affordable-recipients.ts";
import { chat_format, recipientOf } from "./intake/recipient-format.ts";
import { variablesText } from "./intake/variables-text.ts";
import { validateCampaign } from "./validate-campaign.ts";

/**
 * Creates a campaign for a group, each member with their own variables. Errors: as
 * createChatCampaign; validation-failed on `group_id` when the group does not exist or is too
 * large.
 */
export async function createCampaignForGroup(
  app: App,
  owner: CampaignOwner,
  writes: CampaignWrites,
  { group_id, ...head }: CampaignHead & { readonly group_id: number | string },
): Promise<ChatCampaignResponse> {
  const now = app.clock.now();
  const { account } = owner;
  const group = await findGroup(app.db.query, account.id, Number(group_id));
  const source_violations: FieldError[] = [];
  if (!group)
    source_violations.push({ field: "group_id", reason: "is not a group of this account" });
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
  const affordable = await affordableRecipients(app.db.query, account.id, recipients_max, now);
  const readPhone = openPhoneReader({ valid_only: account.chat_valid_numbers_only });
  const members = openBatchSource(chat_format, members_count, () =>
    readGroup(app.db.pool, account.id, id, ({ phone, variables }) =>
      recipientOf(readPhone, phone, variablesText(variables)),
    ),
  );
  const source = withinCredit(members, affordable, { is_file: false });
  return submitCampaign(app, owner, writes, { order, source, now });
}
