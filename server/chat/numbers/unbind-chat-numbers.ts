import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import type { ChatNumberResponse } from "./chat-number-schema.ts";
import { selectRouted } from "./chat-routes.ts";
import { findChatNumber } from "./chat-numbers.ts";
import { freeRoutes } from "./internal/free-routes.ts";
import { lockChatNumber } from "./internal/lock-chat-number.ts";

export type Unbound = {
  /** Inactive now. */
  readonly numbers: readonly ChatNumberResponse[];
  /** Campaigns of the numbers that have not ended; they send nothing. */
  readonly unfinished_campaigns: number;
};

/**
 * Takes the number with a provider's ID from the account, or the business account with all its numbers, so that
 * another account can have it. The numbers stay, inactive, with all that was sent from them, and the account cannot
 * activate them. Errors: not-found if the account does not have the ID.
 */
export async function unbindChatNumbers(
  tx: Tx,
  actor: Actor,
  providerId: string,
  now: Date,
): Promise<Unbound> {
  const { account_id } = actor;
  const ids = await findBound(tx, account_id, providerId);
  const numbers = [];
  for (const id of ids) {
    const number = await lockChatNumber(tx, account_id, id, "campaigns");
    await tx
      .updateTable("chat_numbers")
      .set({ active: false, updated_at: now })
      .where("account_id", "=", account_id)
      .where("id", "=", id)
      .execute();
    await freeRoutes(tx, account_id, number);
    await recordAudit(tx, actor, { at: now, action: "chat_number.unbound", subject_id: id });
    numbers.push(await findChatNumber(tx, account_id, id));
  }
  // Without a number, it is the rest of a file or of two removals at once.
  const { numDeletedRows } = await tx
    .deleteFrom("chat_routes")
    .where("account_id", "=", account_id)
    .where("provider_id", "=", providerId)
    .executeTakeFirstOrThrow();
  if (numbers.length === 0) {
    if (numDeletedRows === 0n)
      throw new Refusal(
        "not-found",
        `Account ${account_id} has no WhatsApp number or business account with the ID ${providerId}`,
      );
    const detail = { provider_id: providerId };
    await recordAudit(tx, actor, {
      at: now,
      action: "chat_number.unbound",
      subject_id: null,
      detail,
    });
  }
  return { numbers, unfinished_campaigns: await countUnfinished(tx, account_id, ids) };
}

/** Returns the IDs of the account's numbers that have the provider's ID, as their own or their business account's. */
async function findBound(tx: Tx, accountId: number, providerId: string): Promise<number[]> {
  const rows = await selectRouted(tx, accountId)
    .select("n.id")
    .where((or) =>
      or.or([or("r.provider_id", "=", providerId), or("n.business_account_id", "=", providerId)]),
    )
    .orderBy("n.id")
    .execute();
  return rows.map(({ id }) => id);
}

async function countUnfinished(tx: Tx, accountId: number, ids: readonly number[]) {
  if (ids.length === 0) return 0;
  const { count } = await tx
    .selectFrom("chat_campaigns")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", accountId)
    .where("chat_number_id", "in", ids)
    .where("finished_at", "is", null)
    .executeTakeFirstOrThrow();
  return count;
}
