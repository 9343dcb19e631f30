// Sets, lists and deletes the WhatsApp credentials of accounts; for operators. No response contains a secret.
import type { Kysely } from "kysely";
import type { AuditAction } from "../../accounts/audit/audit-actions.ts";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { decodeCursor, page } from "../../lib/database/cursor.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { notFound } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import { credentialPlace } from "./internal/credential-place.ts";
import type { WhatsappCredential, WhatsappCredentialResponse } from "./credential-schema.ts";

/** Returns a page of the accounts with a credential of their own, by ID. */
export async function listWhatsappCredentials(
  db: Kysely<DB>,
  { limit = 50, cursor }: { limit?: number; cursor?: string },
): Promise<{ data: WhatsappCredentialResponse[]; next_cursor: string | null }> {
  const found = await db
    .selectFrom("whatsapp_credentials")
    .select(["account_id", "app_secret", "created_at", "updated_at"])
    .where("account_id", ">", cursor === undefined ? 0 : decodeCursor(cursor))
    .orderBy("account_id")
    .limit(limit + 1)
    .execute();
  const { rows, next } = page(
    found.map((row) => ({ ...row, id: row.account_id })),
    limit,
  );
  return { data: rows.map(credentialResponse), next_cursor: next };
}

/**
 * Sets or replaces an account's credential, which its senders use within seconds. The audit trails of the actor's
 * account and of that account record it. The body is validated before. Refuses: not-found.
 */
export async function setWhatsappCredential(
  tx: Tx,
  actor: Actor,
  id: number,
  { access_token, app_secret, verify_token }: WhatsappCredential,
  { now, secrets }: { readonly now: Date; readonly secrets: Secrets },
): Promise<WhatsappCredentialResponse> {
  const account_id = knownId(id);
  await requireAccount(tx, account_id);
  const seal = (column: Parameters<typeof credentialPlace>[0], plain: string | null | undefined) =>
    plain ? secrets.seal(credentialPlace(column, account_id), plain) : null;
  const values = {
    access_token: seal("access_token", access_token)!,
    app_secret: seal("app_secret", app_secret),
    verify_token: seal("verify_token", verify_token),
    updated_at: now,
  };
  const row = await tx
    .insertInto("whatsapp_credentials")
    .values({ account_id, ...values, created_at: now })
    .onConflict((conflict) => conflict.column("account_id").doUpdateSet(values))
    .returning(["account_id", "app_secret", "created_at", "updated_at"])
    .executeTakeFirstOrThrow();
  await record(tx, actor, account_id, "whatsapp_credential.set", now);
  return credentialResponse(row);
}

/**
 * Deletes an account's credential, if it has one; its numbers use the installation's from then on. Refuses:
 * not-found (the account).
 */
export async function deleteWhatsappCredential(
  tx: Tx,
  actor: Actor,
  id: number,
  now: Date,
): Promise<void> {
  const account_id = knownId(id);
  await requireAccount(tx, account_id);
  const { numDeletedRows } = await tx
    .deleteFrom("whatsapp_credentials")
    .where("account_id", "=", account_id)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) return;
  await record(tx, actor, account_id, "whatsapp_credential.deleted", now);
}

async function requireAccount(tx: Tx, account_id: number): Promise<void> {
  const account = await tx
    .selectFrom("accounts")
    .select("account_id")
    .where("account_id", "=", account_id)
    .executeTakeFirst();
  if (!account) throw notFound();
}

async function record(
  tx: Tx,
  actor: Actor,
  account_id: number,
  action: AuditAction,
  at: Date,
): Promise<void> {
  await recordAudit(tx, actor, { at, action, subject_id: account_id });
  if (actor.account_id === account_id) return;
  const { request_id } = actor;
  const operator = { account_id, user_id: null, token_id: null, request_id };
  await recordAudit(tx, operator, { at, action, subject_id: account_id });
}

function credentialResponse(row: {
  account_id: number;
  app_secret: string | null;
  created_at: Date;
  updated_at: Date;
}): WhatsappCredentialResponse {
  return {
    account_id: row.account_id,
    own_app: row.app_secret !== null,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}
