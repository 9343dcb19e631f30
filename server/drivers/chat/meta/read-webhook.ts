// The news in a webhook of Meta's. Meta adds fields and kinds without notice, so everything that is
// not of a known form is left out, and nothing throws.
import type { Report, ReportBatch } from "../driver.ts";
import { asCode, asId, asRecord, asRecords, asText, type JsonRecord } from "./json.ts";
import { readQuality, readReason, templateCategory, templateStatus } from "./templates.ts";

const event_characters_max = 500;

/** Reads a webhook body, already parsed: a batch for each change of each entry that has news. */
export function readWebhook(body: unknown): readonly ReportBatch[] {
  return asRecords(asRecord(body)?.["entry"]).flatMap((entry) => {
    const business_account_id = asId(entry["id"]);
    return asRecords(entry["changes"]).flatMap(({ field, value }) => {
      const change = asRecord(value);
      const reports = change === null ? [] : readChange(field, change);
      if (reports.length === 0) return [];
      const phone_number_id = asId(asRecord(change?.["metadata"])?.["phone_number_id"]);
      return { phone_number_id, business_account_id, reports };
    });
  });
}

function readChange(field: unknown, value: JsonRecord): readonly Report[] {
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

function readStatus(status: JsonRecord): Report | null {
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

/** `system` messages tell of a customer's new number; they are none of the customer's words. */
function readReply(message: JsonRecord): Report | null {
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
    ...readWords(type, content),
    answers,
  };
}

function readWords(
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

function readPreference(preference: JsonRecord): Report | null {
  const from = readNumber(preference["wa_id"]);
  const at = readTime(preference["timestamp"]);
  const { category, value } = preference;
  if (from === null || at === null || category !== "marketing_messages") return null;
  if (value !== "stop" && value !== "resume") return null;
  return { kind: "preference", from, at, stop: value === "stop" };
}

function readTemplateStatus(value: JsonRecord): readonly Report[] {
  const provider_template_id = asId(value["message_template_id"]);
  const status = templateStatus(value["event"]);
  if (provider_template_id === null || status === undefined) return [];
  const reason =
    readReason(value["reason"]) ?? asText(asRecord(value["other_info"])?.["description"]);
  return [
    { kind: "template", provider_template_id, status, ...(reason === null ? {} : { reason }) },
  ];
}

function readTemplateQuality(value: JsonRecord): readonly Report[] {
  const provider_template_id = asId(value["message_template_id"]);
  if (provider_template_id === null || asText(value["new_quality_score"]) === null) return [];
  return [
    { kind: "template", provider_template_id, quality: readQuality(value["new_quality_score"]) },
  ];
}

/** Without `new_category` it only announces what will happen tomorrow. */
function readTemplateCategory(value: JsonRecord): readonly Report[] {
  const provider_template_id = asId(value["message_template_id"]);
  const category = templateCategory(value["new_category"]);
  if (provider_template_id === null || category === undefined) return [];
  return [{ kind: "template", provider_template_id, category }];
}

/** The whole value, since what matters in it differs with each kind of event. */
function describe(field: string, value: JsonRecord): string {
  return `${field} ${JSON.stringify(value)}`.slice(0, event_characters_max).toWellFormed();
}

function readNumber(value: unknown): string | null {
  return typeof value === "string" && /^\+?\d{5,20}$/.test(value) ? value.replace("+", "") : null;
}

/** Seconds since 1970, as a text or a number. */
function readTime(value: unknown): Date | null {
  const seconds = typeof value === "string" && /^\d{1,11}$/.test(value) ? Number(value) : value;
  if (!Number.isSafeInteger(seconds)) return null;
  const time = new Date((seconds as number) * 1_000);
  return Number.isNaN(time.getTime()) ? null : time;
}
