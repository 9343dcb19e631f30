// Reads the events of Meta's webhooks. Meta adds fields and types without notice, so unknown content is omitted and
// nothing throws.
import type { WebhookEvent, WebhookEventBatch } from "../driver.ts";
import { asCode, asId, asRecord, asRecords, asText, type JsonRecord } from "./json.ts";
import { readQuality, readReason, templateCategory, templateStatus } from "./templates.ts";

const event_characters_max = 500;

/** Reads a parsed webhook body: one batch for each change of each entry that has events. */
export function readWebhook(body: unknown): readonly WebhookEventBatch[] {
  return asRecords(asRecord(body)?.["entry"]).flatMap((entry) => {
    const business_account_id = asId(entry["id"]);
    return asRecords(entry["changes"]).flatMap(({ field, value }) => {
      const change = asRecord(value);
      const events = change === null ? [] : readChange(field, change);
      if (events.length === 0) return [];
      const phone_number_id = asId(asRecord(change?.["metadata"])?.["phone_number_id"]);
      return { phone_number_id, business_account_id, events };
    });
  });
}

function readChange(field: unknown, value: JsonRecord): readonly WebhookEvent[] {
  switch (field) {
    case "messages":
      return [
        ...asRecords(value["statuses"]).flatMap((status) => readStatus(status) ?? []),
        ...asRecords(value["messages"]).flatMap((message) => readReply(message) ?? []),
      ];
    case "user_preferences":
      return asRecords(value["user_preferences"]).flatMap((one) => readPreference(one) ?? []);
    case "message_template_status_update":
      return readTemplateStatus(value);
    case "message_template_quality_update":
      return readTemplateQuality(value);
    case "template_category_update":
      return readTemplateCategory(value);
    case "account_update":
    case "business_capability_update":
      return [{ kind: "account", event: describe(field, value) }];
    default:
      return [];
  }
}

function readStatus(status: JsonRecord): WebhookEvent | null {
  const provider_message_id = asText(status["id"]);
  const name = (["sent", "delivered", "read", "failed"] as const).find(
    (known) => known === status["status"],
  );
  const at = readTime(status["timestamp"]);
  if (provider_message_id === null || name === undefined || at === null) return null;
  return {
    kind: "status",
    provider_message_id,
    message_id: asText(status["biz_opaque_callback_data"]),
    status: name,
    at,
    code: asCode(asRecords(status["errors"])[0]?.["code"]),
  };
}

/** Reads a reply; omits `system` messages, which report a customer's new number. */
function readReply(message: JsonRecord): WebhookEvent | null {
  const provider_message_id = asText(message["id"]);
  const from = readNumber(message["from"]);
  const type = asText(message["type"]);
  const at = readTime(message["timestamp"]);
  if (provider_message_id === null || from === null || type === null || at === null) return null;
  if (type === "system") return null;
  const answers = asText(asRecord(message["context"])?.["id"]);
  const content = asRecord(message[type]) ?? {};
  return {
    kind: "reply",
    provider_message_id,
    from,
    at,
    type,
    ...readContent(type, content),
    answers,
  };
}

function readContent(
  type: string,
  content: JsonRecord,
): { readonly text: string | null; readonly payload: string | null } {
  switch (type) {
    case "text":
      return { text: asText(content["body"]), payload: null };
    case "button":
      return { text: asText(content["text"]), payload: asText(content["payload"]) };
    case "interactive": {
      const chosen = asRecord(content["button_reply"]) ?? asRecord(content["list_reply"]);
      if (chosen) return { text: asText(chosen["title"]), payload: asText(chosen["id"]) };
      const form = asRecord(content["nfm_reply"]);
      return { text: asText(form?.["body"]), payload: asText(form?.["response_json"]) };
    }
    default:
      return { text: asText(content["caption"]), payload: null };
  }
}

function readPreference(preference: JsonRecord): WebhookEvent | null {
  const from = readNumber(preference["wa_id"]);
  const at = readTime(preference["timestamp"]);
  const { category, value } = preference;
  if (from === null || at === null || category !== "marketing_messages") return null;
  if (value !== "stop" && value !== "resume") return null;
  return { kind: "preference", from, at, stop: value === "stop" };
}

function readTemplateStatus(value: JsonRecord): readonly WebhookEvent[] {
  const provider_template_id = asId(value["message_template_id"]);
  const status = templateStatus(value["event"]);
  if (provider_template_id === null || status === undefined) return [];
  const reason =
    readReason(value["reason"]) ?? asText(asRecord(value["other_info"])?.["description"]);
  return [
    { kind: "template", provider_template_id, status, ...(reason === null ? {} : { reason }) },
  ];
}

function readTemplateQuality(value: JsonRecord): readonly WebhookEvent[] {
  const provider_template_id = asId(value["message_template_id"]);
  if (provider_template_id === null || asText(value["new_quality_score"]) === null) return [];
  return [
    { kind: "template", provider_template_id, quality: readQuality(value["new_quality_score"]) },
  ];
}

/** Reads a category change; without `new_category`, it only announces a future change. */
function readTemplateCategory(value: JsonRecord): readonly WebhookEvent[] {
  const provider_template_id = asId(value["message_template_id"]);
  const category = templateCategory(value["new_category"]);
  if (provider_template_id === null || category === undefined) return [];
  return [{ kind: "template", provider_template_id, category }];
}

/** Describes the whole value, because the relevant fields differ between events. */
function describe(field: string, value: JsonRecord): string {
  return `${field} ${JSON.stringify(value)}`.slice(0, event_characters_max).toWellFormed();
}

function readNumber(value: unknown): string | null {
  return typeof value === "string" && /^\+?\d{5,20}$/.test(value) ? value.replace("+", "") : null;
}

/** Parses seconds since 1970, as text or number. */
function readTime(value: unknown): Date | null {
  const seconds = typeof value === "string" && /^\d{1,11}$/.test(value) ? Number(value) : value;
  if (!Number.isSafeInteger(seconds)) return null;
  const time = new Date((seconds as number) * 1_000);
  return Number.isNaN(time.getTime()) ? null : time;
}
