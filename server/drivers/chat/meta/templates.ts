// Meta's templates, with its many statuses and categories mapped to ours.
import {
  ChatSendError,
  type ProviderTemplate,
  type TemplateCategory,
  type TemplateComponent,
  type TemplateDraft,
  type TemplateQuality,
  type TemplateStatus,
} from "../driver.ts";
import type { GraphClient } from "./graph-client.ts";
import { asId, asRecord, asRecords, asText, type JsonRecord } from "./json.ts";

const page_size = 100;
/** Meta allows 6,000 templates for a business account; a longer list is treated as an error. */
const pages_max = 200;
const fields =
  "id,name,language,status,category,parameter_format,components,quality_score,rejected_reason";

const statuses: Readonly<Record<string, TemplateStatus>> = {
  APPROVED: "APPROVED",
  PENDING: "PENDING",
  REJECTED: "REJECTED",
  PAUSED: "PAUSED",
  DISABLED: "DISABLED",
  // Sendable.
  FLAGGED: "APPROVED",
  REINSTATED: "APPROVED",
  UNPAUSED: "APPROVED",
  UNARCHIVED: "APPROVED",
  // Under review.
  IN_APPEAL: "PENDING",
  IN_REVIEW: "PENDING",
  LOCKED: "PAUSED",
  // Permanently unusable.
  PENDING_DELETION: "DISABLED",
  DELETED: "DISABLED",
  ARCHIVED: "DISABLED",
  LIMIT_EXCEEDED: "DISABLED",
};

const categories: Readonly<Record<string, TemplateCategory>> = {
  MARKETING: "MARKETING",
  AUTHENTICATION: "AUTHENTICATION",
  OTP: "AUTHENTICATION",
  UTILITY: "UTILITY",
  TRANSACTIONAL: "UTILITY",
  // Before 2023.
  ACCOUNT_UPDATE: "UTILITY",
  ALERT_UPDATE: "UTILITY",
  APPOINTMENT_UPDATE: "UTILITY",
  AUTO_REPLY: "UTILITY",
  ISSUE_RESOLUTION: "UTILITY",
  PAYMENT_UPDATE: "UTILITY",
  PERSONAL_FINANCE_UPDATE: "UTILITY",
  RESERVATION_UPDATE: "UTILITY",
  SHIPPING_UPDATE: "UTILITY",
  TICKET_UPDATE: "UTILITY",
  TRANSPORTATION_UPDATE: "UTILITY",
};

/** Maps Meta's status to ours; undefined if it is unknown. */
export function templateStatus(value: unknown): TemplateStatus | undefined {
  return typeof value === "string" ? statuses[value.toUpperCase()] : undefined;
}

/** Maps Meta's category to ours; undefined if it is unknown. */
export function templateCategory(value: unknown): TemplateCategory | undefined {
  return typeof value === "string" ? categories[value.toUpperCase()] : undefined;
}

export function readQuality(value: unknown): TemplateQuality {
  const found = (["GREEN", "YELLOW", "RED"] as const).find((quality) => quality === value);
  return found ?? "UNKNOWN";
}

/** Reads a reason; Meta's NONE means null. */
export function readReason(value: unknown): string | null {
  return value === "NONE" ? null : asText(value);
}

/** Lists the templates of the business account. An unknown status reads as DISABLED. */
export async function listTemplates(
  client: GraphClient,
  businessAccountId: string,
): Promise<readonly ProviderTemplate[]> {
  const base = `/${encodeURIComponent(businessAccountId)}/message_templates?fields=${fields}&limit=${page_size}`;
  const found: ProviderTemplate[] = [];
  let after: string | null = null;
  for (let page = 0; page < pages_max; page += 1) {
    const path = after === null ? base : `${base}&after=${encodeURIComponent(after)}`;
    const answer = await client.call({
      business_account_id: businessAccountId,
      method: "GET",
      path,
    });
    if (!Array.isArray(answer["data"])) break;
    found.push(...asRecords(answer["data"]).flatMap((row) => readTemplate(row) ?? []));
    const paging = asRecord(answer["paging"]);
    after = asText(asRecord(paging?.["cursors"])?.["after"]);
    if (asText(paging?.["next"]) === null || after === null) return found;
  }
  // With an incomplete list, the missing templates would appear deleted.
  throw new ChatSendError("unknown", "the list of templates is incomplete or too long");
}

function readTemplate(row: JsonRecord): ProviderTemplate | null {
  const provider_template_id = asId(row["id"]);
  const name = asText(row["name"]);
  const language = asText(row["language"]);
  if (provider_template_id === null || name === null || language === null) return null;
  return {
    provider_template_id,
    name,
    language,
    // Those who have opted out of marketing are spared what may be marketing.
    category: templateCategory(row["category"]) ?? "MARKETING",
    parameter_format: row["parameter_format"] === "NAMED" ? "NAMED" : "POSITIONAL",
    components: asRecords(row["components"]).map(readComponent),
    status: templateStatus(row["status"]) ?? "DISABLED",
    quality: readQuality(asRecord(row["quality_score"])?.["score"]),
    rejection_reason: readReason(row["rejected_reason"]),
  };
}

function readComponent(component: JsonRecord): TemplateComponent {
  return { ...component, type: asText(component["type"])?.toUpperCase() ?? "UNKNOWN" };
}

/** Submits a draft. Meta may assign another category than the requested one. */
export async function createTemplate(
  client: GraphClient,
  businessAccountId: string,
  draft: TemplateDraft,
): Promise<ProviderTemplate> {
  const { name, language, category, parameter_format, components } = draft;
  const answer = await client.call({
    business_account_id: businessAccountId,
    method: "POST",
    path: `/${encodeURIComponent(businessAccountId)}/message_templates`,
    body: JSON.stringify({ name, language, category, parameter_format, components }),
  });
  const provider_template_id = asId(answer["id"]);
  if (provider_template_id === null) {
    throw new ChatSendError("unknown", "the response has no template ID");
  }
  return {
    provider_template_id,
    name,
    language,
    category: templateCategory(answer["category"]) ?? category,
    parameter_format,
    components,
    status: templateStatus(answer["status"]) ?? "PENDING",
    quality: "UNKNOWN",
    rejection_reason: null,
  };
}

/** Deletes the template in all its languages. */
export async function deleteTemplate(
  client: GraphClient,
  businessAccountId: string,
  name: string,
): Promise<void> {
  const path = `/${encodeURIComponent(businessAccountId)}/message_templates`;
  await client.call({
    business_account_id: businessAccountId,
    method: "DELETE",
    path: `${path}?name=${encodeURIComponent(name)}`,
  });
}
