// Synchronizes the templates of a business account with the provider: daily, on request, and when a webhook reports an
// edit or an approval, because webhooks do not contain a template's whole content.
import { isDeepStrictEqual } from "node:util";
import {
  ChatSendError,
  chat_driver_names,
  type ChatDriver,
  type ProviderTemplate,
  type SendFailure,
} from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import type { JobHandler } from "../../engine/work-jobs.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { findChatDriver } from "../credentials/chat-drivers.ts";
import { businessRouteOf, hasRoute } from "../numbers/chat-routes.ts";
import { wakeSenders } from "../numbers/wake-senders.ts";
import { refreshNumbers } from "../numbers/refresh-numbers.ts";
import { held_template_sync_ms, type BusinessAccount } from "../numbers/schedule-template-sync.ts";
import { revalidateCampaigns } from "./revalidate-campaigns.ts";
import { setTemplateStatus } from "./set-template-status.ts";

/** How many templates a sync found, created, changed and disabled. */
export type SyncResult = {
  readonly total: number;
  readonly added: number;
  readonly updated: number;
  /** Templates that the provider no longer has; they become DISABLED. */
  readonly gone: number;
};

/**
 * Fetches all templates: creates new ones, updates status, quality, category, content and reason of the
 * others, and holds or releases their campaigns accordingly, also those that no longer fit a changed
 * template. Idempotent. Throws ChatSendError and
 * changes nothing when the provider does not respond.
 */
export async function syncTemplates(
  app: App,
  driver: ChatDriver,
  business: BusinessAccount,
): Promise<SyncResult> {
  // Read before the provider is queried, so that a template created meanwhile does not count as missing.
  const known = await readKnown(app, business);
  const byName = new Map(known.map((row) => [nameOf(row), row]));
  const held = await readHeld(app, business.account_id);
  // An event that is applied meanwhile is newer than what the provider returns.
  const asked_at = app.clock.now();
  const fetched = await driver.listTemplates(business.business_account_id);
  const numberIds = new Set<number>();
  let [added, updated, gone] = [0, 0, 0];
  for (const template of fetched) {
    const row = byName.get(nameOf(template));
    if (row && isUpToDate(row, template) && !held.has(row.id)) continue;
    const done = await app.db.query
      .transaction()
      .execute((tx) => applyTemplate(tx, business, { ...template, asked_at }, app.clock.now()));
    added += Number(done.added);
    updated += Number(done.changed);
    for (const id of done.number_ids) numberIds.add(id);
  }
  for (const row of missing(known, fetched, business)) {
    const change = {
      status: "DISABLED",
      reason: "no longer exists at the provider",
      asked_at,
    } as const;
    const subject = { account_id: business.account_id, template_id: row.id };
    const { changed } = await app.db.query
      .transaction()
      .execute((tx) => setTemplateStatus(tx, subject, change, app.clock.now()));
    gone += Number(changed);
  }
  for (const id of await revalidateCampaigns(app, business)) numberIds.add(id);
  wakeSenders(app, business.account_id, [...numberIds]);
  return { total: fetched.length, added, updated, gone };
}

const again_ms = 86_400_000;
const after_refusal_ms = 3_600_000;
/** Campaigns may wait for the content of an approved template. */
const after_outage_ms = 60_000;
const outages: ReadonlySet<SendFailure> = new Set(["unreachable", "unknown", "throttled"]);

/** Runs the daily job of a business account and its numbers, which ends with the account's last number there. */
export const syncTemplatesDaily: JobHandler = async (app, { account_id, payload }) => {
  const { driver: driverName, business_account_id } = payload as BusinessAccount;
  const name = chat_driver_names.find((one) => one === driverName)!;
  const business = { account_id, driver: name, business_account_id };
  if (!(await hasRoute(app.db.query, account_id, businessRouteOf(business)))) return undefined;
  const later = (ms: number) => ({ again_at: new Date(app.clock.now().getTime() + ms) });
  const driver = await findChatDriver(app, name, account_id);
  // Without a credential at the moment.
  if (!driver) return later(Math.max(await delayOf(app, business), after_refusal_ms));
  try {
    await syncTemplates(app, driver, business);
    await refreshNumbers(app, driver, business);
  } catch (err) {
    if (!(err instanceof ChatSendError)) throw err;
    app.log.warn({ err, account_id }, "the templates of a business account could not be fetched");
    if (!outages.has(err.failure)) return later(after_refusal_ms);
    return later(Math.max(after_outage_ms, err.retry_after_ms ?? 0));
  }
  return later(await delayOf(app, business));
};

// Templates that a fetch may release. A new campaign may use one that is approved.
const findAwaited = statement<{ since: Date; is_used: boolean }>(`
  select greatest(h.set_at, t.status_at) as since,
    t.status = 'APPROVED' or exists (
      select from chat_campaigns c
      where c.account_id = $1 and c.template_id = t.id and c.finished_at is null) as is_used
  from chat_holds h
  join chat_templates t on t.account_id = $1 and t.id = h.subject_id
  where h.account_id = $1 and h.scope = 'template' and t.driver = $2 and t.business_account_id = $3
    and t.status not in ('DISABLED', 'REJECTED')`);

/**
 * Returns the delay of the next fetch: short while a template is held that campaigns wait for, otherwise as long as the
 * last one has been held, up to a day.
 */
async function delayOf(app: App, business: BusinessAccount): Promise<number> {
  const { account_id, driver, business_account_id } = business;
  const awaited = await findAwaited(app.db.pool, [account_id, driver, business_account_id]);
  const now_ms = app.clock.now().getTime();
  const delays = awaited.map(({ since, is_used }) =>
    is_used ? held_template_sync_ms : Math.max(now_ms - since.getTime(), held_template_sync_ms),
  );
  return Math.min(again_ms, ...delays);
}

const known_columns = [
  "id",
  "name",
  "language",
  "category",
  "parameter_format",
  "components",
  "status",
  "quality",
  "rejection_reason",
  "provider_template_id",
] as const;
type Known = Awaited<ReturnType<typeof readKnown>>[number];

function readKnown(app: App, business: BusinessAccount) {
  return app.db.query
    .selectFrom("chat_templates")
    .select(known_columns)
    .where("account_id", "=", business.account_id)
    .where("driver", "=", business.driver)
    .where("business_account_id", "=", business.business_account_id)
    .execute();
}

async function readHeld(app: App, accountId: number): Promise<Set<number>> {
  const rows = await app.db.query
    .selectFrom("chat_holds")
    .select("subject_id")
    .where("account_id", "=", accountId)
    .where("scope", "=", "template")
    .execute();
  return new Set(rows.map(({ subject_id }) => subject_id));
}

/** Returns the key of a template within its business account. */
function nameOf({ name, language }: Pick<ProviderTemplate, "name" | "language">): string {
  return `${name} ${language}`;
}

function isUpToDate(row: Known, template: ProviderTemplate): boolean {
  return (
    row.provider_template_id === template.provider_template_id &&
    row.status === template.status &&
    row.quality === template.quality &&
    row.category === template.category &&
    row.rejection_reason === template.rejection_reason &&
    row.parameter_format === template.parameter_format &&
    isDeepStrictEqual(row.components, template.components)
  );
}

/** The sandbox loses its templates on restart, so none of them counts as missing. */
function missing(
  known: readonly Known[],
  fetched: readonly ProviderTemplate[],
  { driver }: BusinessAccount,
): Known[] {
  if (driver === "sandbox") return [];
  const names = new Set(fetched.map(nameOf));
  return known.filter((row) => row.provider_template_id !== null && !names.has(nameOf(row)));
}

type Applied = {
  readonly added: boolean;
  readonly changed: boolean;
  readonly number_ids: readonly number[];
};

async function applyTemplate(
  tx: Tx,
  { account_id, driver, business_account_id }: BusinessAccount,
  template: ProviderTemplate & { readonly asked_at: Date },
  now: Date,
): Promise<Applied> {
  const { name, language, status, quality, category, asked_at } = template;
  const { rejection_reason: reason } = template;
  const content = {
    parameter_format: template.parameter_format,
    components: JSON.stringify(template.components),
    provider_template_id: template.provider_template_id,
    updated_at: now,
  };
  const place = { account_id, driver, business_account_id };
  const key_columns = ["account_id", "driver", "business_account_id", "name", "language"] as const;
  const created = await tx
    .insertInto("chat_templates")
    .values({
      ...place,
      name,
      language,
      ...content,
      category,
      status,
      quality,
      rejection_reason: reason,
      created_at: now,
    })
    .onConflict((conflict) => conflict.columns(key_columns).doNothing())
    .returning("id")
    .executeTakeFirst();
  if (created) return { added: true, changed: false, number_ids: [] };
  const { id: template_id } = await tx
    .updateTable("chat_templates")
    .set(content)
    .where("account_id", "=", account_id)
    .where("driver", "=", driver)
    .where("business_account_id", "=", business_account_id)
    .where("name", "=", name)
    .where("language", "=", language)
    .returning("id")
    .executeTakeFirstOrThrow();
  const change = { status, reason, quality, category, asked_at };
  const done = await setTemplateStatus(tx, { account_id, template_id }, change, now);
  return { added: false, changed: true, number_ids: done.number_ids };
}
