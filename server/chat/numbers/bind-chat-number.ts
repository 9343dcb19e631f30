import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import type { ChatNumberResponse, NewChatNumber } from "./chat-number-schema.ts";
import { createChatNumber } from "./create-chat-number.ts";

/**
 * Adds a number to an account. If an operator adds it to another account than the actor's, the audit trails of
 * both record it. Refuses as createChatNumber does, and validation-failed (account_id).
 */
export async function bindChatNumber(
  tx: Tx,
  actor: Actor,
  account_id: number,
  number: Omit<NewChatNumber, "account_id">,
  now: Date,
): Promise<ChatNumberResponse> {
  if (account_id === actor.account_id) return createChatNumber(tx, actor, number, now);
  const account = await tx
    .selectFrom("accounts")
    .select("account_id")
    .where("account_id", "=", knownId(account_id))
    .executeTakeFirst();
  if (!account) throw invalidField("account_id", "is not the ID of an account");
  const { request_id } = actor;
  const operator = { account_id, user_id: null, token_id: null, request_id };
  const created = await createChatNumber(tx, operator, number, now);
  await recordAudit(tx, actor, {
    at: now,
    action: "chat_number.bound",
    subject_id: created.id,
    detail: { account_id, driver: number.driver },
  });
  return created;
}
