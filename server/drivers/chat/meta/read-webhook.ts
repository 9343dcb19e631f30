// Reads the events of Meta's webhooks. Meta adds fields and types without notice: unknown content is reported as
// unread, and nothing throws. docs/decisions/2026-11-22-inbound-webhooks.md lists the sources.
import type { WebhookEvent, WebhookEventBatch, WebhookPerson } from "../driver.ts";
import { asCode, asId, asRecord, asRecords, asText, type JsonRecord } from "./json.ts";
import { readAccountUpdate } from "./read-account-update.ts";
import { readMessage } from "./read-message.ts";
import {
  linksOf,
  openSenderReader,
  readBsuid,
  readBsuids,
  readNumber,
  readTime,
} from "./read-person.ts";
import { readQuality, readReason, templateCategory, templateStatus } from "./templates.ts";

/** Documented fields that concern nothing Trunkline does. */
const unused_fields: ReadonlySet<unknown> = new Set([
  "account_alerts",
  "account_review_update",
  "account_settings_update",
  "automatic_events",
  "business_status_update",
  "business_username_update",
  "calls",
  "flows",
  "group_lifecycle_update",
  "group_participants_update",
  "group_settings_update",
  "group_status_update",
  "history",
  "message_echoes",
  "messaging_handovers",
  "partner_solutions",
  "payment_configuration_update",
  "phone_number_name_update",
  "security",
  "smb_app_state_sync",
  "smb_message_echoes",
  "standby",
  "tracking_events",
]);
const message_fields: ReadonlySet<string> = new Set([
  "messaging_product",
  "metadata",
  "contacts",
  "statuses",
  "messages",
  // Clicks on marketing messages.
  "user_actions",
  // Errors of the number or the app, such as its throughput, which responses and statuses report, too.
  "errors",
]);
const unused_statuses: ReadonlySet<unknown> = new Set(["played", "deleted"]);

/** Reads a parsed webhook body: one batch for each change of each entry that has events. */
export function readWebhook(body: unknown): readonly WebhookEventBatch[] {
  return asRecords(asRecord(body)?.["entry"]).flatMap((entry) => {
    const business_account_id = asId(entry["id"]);
    const at = readTime(entry["time"]);
    return asRecords(entry["changes"]).flatMap(({ field, value }) => {
      const change = asRecord(value);
      const events = change === null ? [] : readChange(field, change, at);
      if (events.length === 0) return [];
      const phone_number_id = asId(asRecord(change?.["metadata"])?.["phone_number_id"]);
      return { phone_number_id, business_account_id, events };
    });
  });
}

function readChange(field: unknown, value: JsonRecord, at: Date | null): readonly WebhookEvent[] {
  switch (field) {
    case "messages":
      return readMessages(value);
    case "user_preferences":
      return [
        ...readLinks(asRecords(value["contacts"])),
        ...asRecords(value["user_preferences"]).flatMap(readPreference),
      ];
    case "user_id_update":
      return asRecords(value["user_id_update"]).map(readNewBsuid);
    case "message_template_status_update":
      return templateStatus(value["event"]) === undefined
        ? [unread("template status")]
        : readTemplate(value, at, readTemplateStatus(value));
    case "message_template_components_update":
      return readTemplate(value, at, { content_changed: true });
    case "message_template_quality_update":
      return readTemplate(value, at, readTemplateQuality(value));
    case "template_category_update":
      return readTemplate(value, at, readTemplateCategory(value));
    case "phone_number_quality_update":
      return [{ kind: "number" }];
    case "account_update":
    case "business_capability_update":
      return [readAccountUpdate(field, value, at)];
    default:
      return unused_fields.has(field) ? [] : [unread(`field ${asText(field) ?? "without a name"}`)];
  }
}

function readMessages(value: JsonRecord): readonly WebhookEvent[] {
  const contacts = asRecords(value["contacts"]);
  const senderOf = openSenderReader(contacts);
  const unknown = Object.keys(value).find(
    (key) => !message_fields.has(key) || (is_list[key] === true && !isListOfRecords(value[key])),
  );
  return [
    ...readLinks(contacts),
    ...asRecords(value["statuses"]).flatMap(readStatus),
    ...asRecords(value["messages"]).flatMap((message) => readMessage(message, senderOf)),
    ...(unknown === undefined ? [] : [unread(`messages.${unknown}`)]),
  ];
}

const is_list: Readonly<Record<string, true>> = { statuses: true, messages: true };

function isListOfRecords(value: unknown): boolean {
  return Array.isArray(value) && value.every((item) => asRecord(item) !== null);
}

/** Reads the phones of BSUIDs from a webhook's contacts. */
function readLinks(contacts: readonly JsonRecord[]): readonly WebhookEvent[] {
  return contacts.flatMap(({ wa_id, user_id, parent_user_id }) =>
    linksOf(wa_id, user_id, parent_user_id),
  );
}

function readStatus(status: JsonRecord): readonly WebhookEvent[] {
  const provider_message_id = asText(status["id"]);
  const name = (["sent", "delivered", "read", "failed"] as const).find(
    (known) => known === status["status"],
  );
  const at = readTime(status["timestamp"]);
  if (unused_statuses.has(status["status"])) return [];
  if (provider_message_id === null || name === undefined || at === null)
    return [unread(`status ${asText(status["status"]) ?? ""}`)];
  const recipient = readRecipient(status);
  const { from, bsuid, parent_bsuid } = recipient ?? {};
  return [
    ...linksOf(from, bsuid, parent_bsuid),
    {
      kind: "status",
      provider_message_id,
      message_id: asText(status["biz_opaque_callback_data"]),
      status: name,
      at,
      code: asCode(asRecords(status["errors"])[0]?.["code"]),
      ...(recipient === null ? {} : { recipient }),
    },
  ];
}

/** Returns the recipient of a message; null if its status names none, or a group. */
function readRecipient(status: JsonRecord): WebhookPerson | null {
  const { recipient_type, recipient_id, recipient_user_id, recipient_parent_user_id } = status;
  if (recipient_type === "group") return null;
  const from = readNumber(recipient_id);
  const bsuids = readBsuids(recipient_user_id, recipient_parent_user_id);
  return (from ?? bsuids.bsuid) === null ? null : { from, ...bsuids };
}

function readPreference(preference: JsonRecord): readonly WebhookEvent[] {
  const from = readNumber(preference["wa_id"]);
  const bsuids = readBsuids(preference["user_id"], preference["parent_user_id"]);
  const at = readTime(preference["timestamp"]);
  const { category, value } = preference;
  const isKnown = category === "marketing_messages" && (value === "stop" || value === "resume");
  if ((from ?? bsuids.bsuid) === null || at === null || !isKnown)
    return [unread("user preference")];
  return [
    ...linksOf(from, bsuids.bsuid, bsuids.parent_bsuid),
    { kind: "preference", from, ...bsuids, at, stop: value === "stop" },
  ];
}

function readNewBsuid(update: JsonRecord): WebhookEvent {
  const { previous, current } = asRecord(update["user_id"]) ?? {};
  const [before, after] = [readBsuid(previous), readBsuid(current)];
  const at = readTime(update["timestamp"]);
  if (before === null || after === null || at === null) return unread("user_id_update");
  const from = readNumber(update["wa_id"]);
  return {
    kind: "moved",
    at,
    before: { from: null, bsuid: before },
    after: { from, bsuid: after },
  };
}

type TemplateValues = Pick<
  Extract<WebhookEvent, { kind: "template" }>,
  "status" | "quality" | "category" | "reason" | "content_changed"
>;

/** Reads a template event; a template whose ID lost digits is found by name and language. */
function readTemplate(
  value: JsonRecord,
  at: Date | null,
  change: TemplateValues | null,
): readonly WebhookEvent[] {
  if (change === null) return [];
  const provider_template_id = asId(value["message_template_id"]);
  const name = asText(value["message_template_name"]);
  const language = asText(value["message_template_language"]);
  if (provider_template_id === null && (name === null || language === null))
    return [unread("template without an ID")];
  return [{ kind: "template", provider_template_id, name, language, at, ...change }];
}

function readTemplateStatus(value: JsonRecord): TemplateValues | null {
  const status = templateStatus(value["event"]);
  if (status === undefined) return null;
  const reason =
    readReason(value["reason"]) ?? asText(asRecord(value["other_info"])?.["description"]);
  return { status, ...(reason === null ? {} : { reason }) };
}

function readTemplateQuality(value: JsonRecord): TemplateValues | null {
  const score = asText(value["new_quality_score"]);
  return score === null ? null : { quality: readQuality(score) };
}

/** Reads a category change; without `new_category`, it only announces a future change. */
function readTemplateCategory(value: JsonRecord): TemplateValues | null {
  const category = templateCategory(value["new_category"]);
  return category === undefined ? null : { category };
}

function unread(reason: string): WebhookEvent {
  return { kind: "unread", reason: reason.slice(0, 100) };
}
