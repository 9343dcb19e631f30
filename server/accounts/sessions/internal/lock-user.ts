// A new password and the removal of passkeys must miss neither a passkey nor a session that a request in progress creates.
import type { Tx } from "../../../lib/database/database.ts";
import type { UserActor } from "../../audit/record-audit.ts";

type Owner = Pick<UserActor, "account_id" | "user_id">;

/** Waits for the transactions that hold the user, and keeps further ones waiting until this one ends. */
export async function lockUser(tx: Tx, owner: Owner): Promise<void> {
  await userRow(tx, owner).forNoKeyUpdate().execute();
}

/** Waits for a transaction that has locked the user. Read after it what the new passkey or session is due to. */
export async function holdUser(tx: Tx, owner: Owner): Promise<void> {
  await userRow(tx, owner).forShare().execute();
}

function userRow(tx: Tx, { account_id, user_id }: Owner) {
  return tx
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", account_id)
    .where("id", "=", user_id);
}
