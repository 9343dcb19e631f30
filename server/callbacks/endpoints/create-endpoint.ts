import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import { endpoints_max, type CreatedEndpoint, type NewEndpoint } from "./endpoint-schema.ts";
import { endpoint_columns, endpointResponse } from "./endpoints.ts";
import { newEndpointSecret } from "./internal/new-secret.ts";
import { secretText } from "./sign-callback.ts";

/**
 * Creates an endpoint that receives the account's events from now on. The body is validated before. Refuses:
 * conflict when the account has 50 endpoints.
 */
export async function createEndpoint(
  tx: Tx,
  actor: Actor,
  { url, description, types = null }: NewEndpoint,
  now: Date,
  secrets: Secrets,
): Promise<CreatedEndpoint> {
  const { account_id } = actor;
  await refuseTooMany(tx, account_id);
  const { plain, ...sealed } = await newEndpointSecret(tx, secrets, account_id);
  const row = await tx
    .insertInto("callback_endpoints")
    .values({
      account_id,
      kind: "account",
      url,
      description: description ?? "",
      types,
      ...sealed,
      created_by: actor.user_id,
      created_at: now,
      updated_at: now,
    })
    .returning(endpoint_columns)
    .executeTakeFirstOrThrow();
  await recordAudit(tx, actor, {
    at: now,
    action: "callback_endpoint.created",
    subject_id: row.id,
    detail: { types },
  });
  return { ...endpointResponse(row), secret: secretText(plain) };
}

async function refuseTooMany(tx: Tx, account_id: number): Promise<void> {
  // Serializes concurrent creations, so that the second counts the first.
  await tx
    .selectFrom("accounts")
    .select("account_id")
    .where("account_id", "=", account_id)
    .forNoKeyUpdate()
    .executeTakeFirstOrThrow();
  const { count } = await tx
    .selectFrom("callback_endpoints")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", account_id)
    // Not a parameter: the condition of an index.
    .where("kind", "=", sql.lit("account"))
    .where("deleted_at", "is", null)
    .executeTakeFirstOrThrow();
  if (count >= endpoints_max)
    throw new Refusal("conflict", `An account has at most ${endpoints_max} callback endpoints`);
}
