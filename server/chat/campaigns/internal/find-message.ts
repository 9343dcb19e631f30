import type { Kysely, Selectable } from "kysely";
import type { DB } from "../../../lib/database/database.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { knownId } from "../../../lib/ids.ts";
import {
  headerMediaKind,
  makeOpeningPlan,
  makeTemplatePlan,
} from "../../messages/build-message-plan.ts";
import type { MessagePlan } from "../../messages/message-plan.ts";
import type { OpeningMessage } from "../../messages/opening-message.ts";
import { isMediaExpired } from "../../messages/media-expiry.ts";
import { unsupportedPart } from "../../messages/unsupported-part.ts";
import { belongsTo, type TemplateOwner } from "../../templates/template-owner.ts";
import { plannedTemplateOf } from "../../templates/template-schema.ts";

/** The message of a campaign; `template_id` is also set for a flow that opens with a template. */
export type CampaignMessage = { readonly plan: MessagePlan; readonly template_id: number | null };

/** Exactly one is set. */
type Named = {
  readonly template_id: number | null;
  readonly flow_id: number | null;
  readonly automation_flow_id: string | null;
};

/**
 * Returns the named message, or the reason it cannot be sent. A template must belong to the business
 * account of `sender`; this is not checked when `sender` is undefined. Its header's file must still be there when
 * sending starts.
 */
export async function findMessage(
  db: Kysely<DB>,
  accountId: number,
  { template_id, flow_id, automation_flow_id }: Named,
  sender: TemplateOwner | undefined,
  starts_at: Date,
): Promise<CampaignMessage | FieldError> {
  const templateMessage = async (
    templateId: number,
    reasons: { readonly missing: string; readonly prefix: string },
  ): Promise<CampaignMessage | string> => {
    const template = await findTemplate(db, accountId, templateId);
    if (!template) return reasons.missing;
    const message = messageOf(template, sender, starts_at);
    return typeof message === "string" ? `${reasons.prefix} ${message}` : message;
  };
  const found = async (): Promise<CampaignMessage | string> => {
    if (template_id !== null) return templateMessage(template_id, own_template);
    const opening =
      flow_id === null
        ? await findOpening(db, "automation_flows", accountId, automation_flow_id!)
        : await findOpening(db, "chat_flows", accountId, knownId(flow_id));
    if (!opening) return "is not an active flow of this account";
    if (opening.type === "interactive")
      return { plan: makeOpeningPlan(opening), template_id: null };
    return templateMessage(opening.template_id, opening_template);
  };
  const message = await found();
  if (typeof message !== "string") return message;
  const field =
    template_id !== null ? "template_id" : flow_id === null ? "automation_flow_id" : "flow_id";
  return { field, reason: message };
}

const own_template = {
  missing: "is not a template of this account",
  prefix: "is a template that",
};
const opening_template = {
  missing: "opens with a template that does not exist",
  prefix: "opens with a template that",
};

/** Returns the message of a template, or why it cannot be sent: the end of "a template that …". */
function messageOf(
  template: Selectable<DB["chat_templates"]>,
  sender: TemplateOwner | undefined,
  starts_at: Date,
): CampaignMessage | string {
  if (template.status !== "APPROVED") return "is not approved";
  if (sender && !belongsTo(template, sender))
    return "belongs to another business account than the number";
  const planned = plannedTemplateOf(template);
  const part = unsupportedPart(planned.components);
  if (part !== null) return `has ${part}, which campaigns cannot fill`;
  if (headerMediaKind(planned.components) !== null && planned.header_media === null)
    return "has no file for its header: set its header_media";
  if (template.header_media_at !== null && isMediaExpired(template.header_media_at, starts_at))
    return "has a header's file that the provider will have deleted by then, 30 days after it was set: upload it again and set its header_media";
  return { plan: makeTemplatePlan(planned), template_id: template.id };
}

function findTemplate(db: Kysely<DB>, accountId: number, templateId: number) {
  return db
    .selectFrom("chat_templates")
    .selectAll()
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(templateId))
    .executeTakeFirst();
}

async function findOpening(
  db: Kysely<DB>,
  table: "chat_flows" | "automation_flows",
  accountId: number,
  flowId: number | string,
): Promise<OpeningMessage | null> {
  const flow = await db
    .selectFrom(table)
    .select("opening")
    .where("account_id", "=", accountId)
    .where("id", "=", flowId as never)
    .where("active", "=", true)
    .executeTakeFirst();
  return flow ? (flow.opening as OpeningMessage) : null;
}
