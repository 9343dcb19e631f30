// Creates a template: stores a draft, submits it to the provider outside of any transaction, and stores
// the provider's response.
import { sql, type ExpressionBuilder } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { ChatDriverName, ProviderTemplate, TemplateDraft } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { callProvider, driverOf } from "../numbers/call-provider.ts";
import { businessRouteOf } from "../numbers/chat-routes.ts";
import { headerMediaColumns } from "./internal/header-media.ts";
import {
  template_columns,
  templateResponse,
  type NewTemplate,
  type TemplateResponse,
} from "./template-schema.ts";

/** A template that the provider has accepted for review. */
export type SubmittedTemplate = {
  readonly place: Place;
  readonly input: NewTemplate;
  readonly submitted: ProviderTemplate;
};

type Place = {
  readonly account_id: number;
  readonly driver: ChatDriverName;
  readonly business_account_id: string;
};

/**
 * Submits a new template, and stores the provider's ID with its draft at once, because keepTemplate may be refused. A
 * rejected template is not stored. After a crash it stays a draft, which a repetition submits again; if the provider has
 * already accepted it, a sync imports it. Errors:
 * validation-failed for an unknown number, a name in use in that language, or a rejection by the
 * provider (with its reason); unavailable when the provider is unreachable.
 */
export async function submitTemplate(
  app: App,
  accountId: number,
  input: NewTemplate,
): Promise<SubmittedTemplate> {
  const place = await placeOf(app, accountId, input.chat_number_id);
  const driver = await driverOf(app, businessRouteOf(place), accountId);
  await recordDraft(app, place, input);
  const { name, language, category, parameter_format, components } = input;
  const draft: TemplateDraft = {
    name,
    language,
    category,
    parameter_format: parameter_format ?? "POSITIONAL",
    components,
  };
  const submitted = await callProvider("components", () =>
    driver.createTemplate(place.business_account_id, draft),
  ).catch(async (error: unknown) => {
    await dropDraft(app, place, input);
    throw error;
  });
  await app.db.query
    .updateTable("chat_templates")
    .set({ provider_template_id: submitted.provider_template_id })
    .where(isDraft(place, input))
    .execute();
  return { place, input, submitted };
}

/** Stores a submitted template with the provider's response. */
export async function keepTemplate(
  tx: Tx,
  actor: Actor,
  { place, input, submitted }: SubmittedTemplate,
  now: Date,
): Promise<TemplateResponse> {
  const state = {
    ...contentOf(input, submitted.category),
    ...(await headerMediaColumns(tx, actor.account_id, input.header_media, now)),
    status: submitted.status,
    quality: submitted.quality,
    rejection_reason: submitted.rejection_reason,
    provider_template_id: submitted.provider_template_id,
    updated_at: now,
  };
  const kept = await tx
    .insertInto("chat_templates")
    .values({ ...place, name: input.name, language: input.language, ...state, created_at: now })
    .onConflict((conflict) =>
      conflict.columns(key_columns).doUpdateSet({ ...state, ...unlessReported }),
    )
    .returning(template_columns)
    .executeTakeFirstOrThrow();
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_template.created",
    subject_id: kept.id,
    detail: { name: kept.name, language: kept.language, status: kept.status },
  });
  return templateResponse(kept);
}

/** Keeps what an event has reported of the draft, which is newer than the provider's response. */
const unlessReported = {
  status: reportedOr("status", "status_at"),
  rejection_reason: reportedOr("rejection_reason", "status_at"),
  quality: reportedOr("quality", "quality_at"),
  category: reportedOr("category", "category_at"),
};

function reportedOr(column: string, at: string) {
  return sql<never>`case when ${sql.ref(`chat_templates.${at}`)} is null
    then ${sql.ref(`excluded.${column}`)} else ${sql.ref(`chat_templates.${column}`)} end`;
}

const key_columns = ["account_id", "driver", "business_account_id", "name", "language"] as const;

async function placeOf(app: App, account_id: number, numberId: number): Promise<Place> {
  const number = await app.db.query
    .selectFrom("chat_numbers")
    .select(["driver", "business_account_id"])
    .where("account_id", "=", account_id)
    .where("id", "=", knownId(numberId))
    .executeTakeFirst();
  if (!number) throw invalidField("chat_number_id", "is not a chat number of this account");
  const { business_account_id } = number;
  return { account_id, driver: number.driver as ChatDriverName, business_account_id };
}

function contentOf(input: NewTemplate, category: string) {
  return {
    category,
    parameter_format: input.parameter_format ?? "POSITIONAL",
    components: JSON.stringify(input.components),
    variable_defaults: JSON.stringify(input.variable_defaults ?? {}),
  };
}

async function recordDraft(app: App, place: Place, input: NewTemplate): Promise<void> {
  const now = app.clock.now();
  const media = await headerMediaColumns(app.db.pool, place.account_id, input.header_media, now);
  const content = { ...contentOf(input, input.category), ...media, updated_at: now };
  const drafted = await app.db.query
    .insertInto("chat_templates")
    .values({
      ...place,
      name: input.name,
      language: input.language,
      ...content,
      status: "PENDING",
      created_at: now,
    })
    .onConflict((conflict) =>
      conflict
        .columns(key_columns)
        .doUpdateSet(content)
        .where("chat_templates.provider_template_id", "is", null),
    )
    .returning("id")
    .executeTakeFirst();
  if (!drafted) {
    throw invalidField("name", "is already the name of a template in this language");
  }
}

/** Deletes the draft, unless a concurrent request has submitted the template. */
async function dropDraft(app: App, place: Place, input: NewTemplate): Promise<void> {
  await app.db.query.deleteFrom("chat_templates").where(isDraft(place, input)).execute();
}

function isDraft(place: Place, { name, language }: NewTemplate) {
  const { account_id, driver, business_account_id } = place;
  return ({ and }: ExpressionBuilder<DB, "chat_templates">) =>
    and({ account_id, driver, business_account_id, name, language, provider_template_id: null });
}
