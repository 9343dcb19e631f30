// Creates or previews a campaign for the members of a saved group.
import type { Caller } from "../../accounts/caller.ts";
import { findGroup } from "../../audience/groups/groups.ts";
import { recipients_max } from "../../audience/intake/limits.ts";
import {
  openRowIntake,
  type Recipient,
  type SourceRow,
} from "../../audience/intake/open-intake.ts";
import { openBatchSource, readGroup } from "../../audience/recipients/recipient-source.ts";
import type { CampaignWrites } from "../../audience/recipients/write-with-recipients.ts";
import type { App } from "../../engine/app.ts";
import { openPhoneReader } from "../../lib/chat-phone-numbers.ts";
import { searches } from "../../lib/database/searches.ts";
import type { FieldError } from "../../lib/errors.ts";
import type {
  CampaignHead,
  CampaignPreview,
  ChatCampaignResponse,
} from "./chat-campaign-schema.ts";
import { submitCampaign, type CampaignOwner } from "./create-chat-campaign.ts";
import { affordableRecipients, withinCredit } from "./intake/affordable-recipients.ts";
import { chat_format, recipientOf } from "./intake/recipient-format.ts";
import { variablesText } from "./intake/variables-text.ts";
import { kept_variables, previewChatCampaign } from "./preview-chat-campaign.ts";
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
  const { group, source_violations } = await findRecipientGroup(app, account.id, group_id);
  const has_recipients = true;
  const order = await validateCampaign(app.db.query, account, head, {
    has_recipients,
    source_violations,
    now,
  });
  const { id, members_count } = group!;
  const affordable = await affordableRecipients(app.db.query, account.id, recipients_max, now);
  const members = openBatchSource(chat_format, members_count, () =>
    readRecipients(app, account, id),
  );
  const source = withinCredit(members, affordable, { is_file: false });
  return submitCampaign(app, owner, writes, { order, source, now });
}

/** Previews a campaign for a group. Errors: as createCampaignForGroup, but for insufficient credit. */
export async function previewCampaignForGroup(
  app: App,
  account: Caller["account"],
  { group_id, ...head }: CampaignHead & { readonly group_id: number | string },
): Promise<CampaignPreview> {
  const { group, source_violations } = await findRecipientGroup(app, account.id, group_id);
  const intake = openRowIntake(chat_format);
  const readAll = async (id: number) => {
    for await (const batch of readRecipients(app, account, id))
      for (const row of batch) intake.take(withVariables(row, intake.recipients.length));
  };
  if (group && source_violations.length === 0)
    await searches.use(account.id, () => readAll(group.id));
  const rejects = intake.rejects();
  const rows = intake.recipients;
  const recipients = { ...intake.counts(), rejects, form: "rows" as const, rows };
  return previewChatCampaign(app, account, {
    head,
    has_recipients: true,
    recipients,
    source_violations,
  });
}

function withVariables(row: SourceRow<Recipient>, before: number): SourceRow<Recipient> {
  if (before < kept_variables || "rejected" in row.recipient) return row;
  return { ...row, recipient: { ...row.recipient, variables: null } };
}

/** Finds the group, with the violations of a group that is missing or too large. */
async function findRecipientGroup(app: App, accountId: number, groupId: number | string) {
  const group = await findGroup(app.db.query, accountId, Number(groupId));
  const reason = group
    ? `has more than ${recipients_max} members`
    : "is not a group of this account";
  const is_usable = group && group.members_count <= recipients_max;
  const source_violations: FieldError[] = is_usable ? [] : [{ field: "group_id", reason }];
  return { group, source_violations };
}

function readRecipients(app: App, account: Caller["account"], groupId: number) {
  const readPhone = openPhoneReader({ valid_only: account.chat_valid_numbers_only });
  const group = { account_id: account.id, group_id: groupId, field: "group_id" };
  return readGroup(app.db.pool, group, ({ phone, variables }) =>
    recipientOf(readPhone, phone, variablesText(variables)),
  );
}
