// A new password, the removal of passkeys, a deactivation and a new email address must miss none of the passkeys, sessions
// and links that a request in progress creates.
import type { Tx } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";
import type { UserActor } from "../../audit/record-audit.ts";

type Owner = Pick<UserActor, "account_id" | "user_id">;

/** Waits for the transactions that hold the user, and keeps further ones waiting until this one ends. */
export async function lockUser(tx: Tx, owner: Owner): Promise<void> {
  await userRow(tx, owner).forNoKeyUpdate().execute();
}

/**
 * Waits for a transaction that has locked the user. Read after it what the new passkey or session is due to. Throws
 * unauthorized if the user is no longer active: a deactivation has ended the sessions that it found.
 */
export async function holdUser(tx: Tx, owner: Owner): Promise<void> {
  const user = await userRow(tx, owner).select("active").forShare().executeTakeFirst();
  if (!user?.active) throw new Refusal("unauthorized", "This user has been deactivated");
}

/**
 * Waits like holdUser, and returns whether the user is active and has this email address (in lower case), which stays so
 * until this transaction ends.
 */
export async function holdUserOfEmail(tx: Tx, owner: Owner, email: string): Promise<boolean> {
  const user = await userRow(tx, owner)
    .where("email", "=", email)
    .where("active", "=", true)
    .forShare()
    .executeTakeFirst();
  return user !== undefined;
}

function userRow(tx: Tx, { account_id, user_id }: Owner) {
  return tx
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", user_id);
}
