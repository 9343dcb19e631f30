import { sql, type Kysely } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { ChatSendError, type ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { Refusal, notFound } from "../../lib/errors.ts";
import { callProvider, driverOf } from "../numbers/call-provider.ts";
import { businessRouteOf, hasRoute } from "../numbers/chat-routes.ts";

/** The templates of one name in every language, because the provider deletes by name. */
export type TemplateName = {
  readonly driver: ChatDriverName;
  readonly business_account_id: string;
  readonly name: string;
};

/**
 * Deletes a template in all its languages at the provider; a template that the provider does not know
 * counts as deleted, and so does one of a business account that is no longer this account's. Errors: not-found; conflict while an unfinished campaign or a flow uses one of
 * them; unavailable when the provider is unreachable.
 */
export async function deleteAtProvider(
  app: App,
  accountId: number,
  templateId: number,
): Promise<TemplateName> {
  const template = await app.db.query
    .selectFrom("chat_templates")
    .select(["driver", "business_account_id", "name", "provider_template_id"])
    .where("account_id", "=", accountId)
    .where("id", "=", templateId)
    .executeTakeFirst();
  if (!template) throw notFound();
  const { business_account_id, name } = template;
  const named = { driver: template.driver as ChatDriverName, business_account_id, name };
  await refuseUsed(app.db.query, accountId, await idsOf(app.db.query, accountId, named));
  const route = businessRouteOf(named);
  if (template.provider_template_id !== null && (await hasRoute(app.db.query, accountId, route))) {
    const driver = await driverOf(app, route, accountId);
    await callProvider("id", () =>
      driver.deleteTemplate(business_account_id, name).catch(ignoreUnknown),
    );
  }
  return named;
}

/** Deletes the stored templates of that name. Errors: conflict when one of them is in use by now. */
export async function deleteTemplates(
  tx: Tx,
  actor: Actor,
  named: TemplateName,
  now: Date,
): Promise<void> {
  const { account_id } = actor;
  const ids = await idsOf(tx, account_id, named, "lock");
  await refuseUsed(tx, account_id, ids);
  await tx
    .deleteFrom("chat_templates")
    .where("account_id", "=", account_id)
    .where(sql<boolean>`id = any(${ids}::bigint[])`)
    .execute();
  await tx
    .deleteFrom("chat_holds")
    .where("account_id", "=", account_id)
    .where("scope", "=", "template")
    .where(sql<boolean>`subject_id = any(${ids}::bigint[])`)
    .execute();
  for (const id of ids) {
    await recordAudit(tx, actor, {
      at: now,
      action: "chat_template.deleted",
      subject_id: id,
      detail: { name: named.name },
    });
  }
}

async function idsOf(
  db: Kysely<DB>,
  accountId: number,
  { driver, business_account_id, name }: TemplateName,
  lock?: "lock",
): Promise<number[]> {
  const query = db
    .selectFrom("chat_templates")
    .select("id")
    .where("account_id", "=", accountId)
    .where("driver", "=", driver)
    .where("business_account_id", "=", business_account_id)
    .where("name", "=", name)
    .orderBy("id");
  const rows = await (lock ? query.forUpdate() : query).execute();
  return rows.map(({ id }) => id);
}

async function refuseUsed(
  db: Kysely<DB>,
  accountId: number,
  ids: readonly number[],
): Promise<void> {
  const { rows } = await sql<{ used_by: string }>`
    select 'campaigns that have not ended' as used_by from chat_campaigns
      where account_id = ${accountId} and finished_at is null and template_id = any(${ids}::bigint[])
    union all
    select 'chat flows' from chat_flows
      where account_id = ${accountId} and (opening ->> 'template_id')::bigint = any(${ids}::bigint[])
    union all
    select 'automation flows' from automation_flows
      where account_id = ${accountId} and (opening ->> 'template_id')::bigint = any(${ids}::bigint[])
    limit 1`.execute(db);
  const [found] = rows;
  if (found) {
    throw new Refusal(
      "conflict",
      `The template, in this or another of its languages, is used by ${found.used_by}`,
    );
  }
}

/** Codes of a missing object: an invalid parameter, or an ID that does not exist, such as a business account's. */
const unknown_codes: ReadonlySet<number | null> = new Set([100, 33]);

function ignoreUnknown(error: unknown): void {
  const isRejected = error instanceof ChatSendError && error.failure === "rejected";
  if (!isRejected || !unknown_codes.has(error.code)) throw error;
}
