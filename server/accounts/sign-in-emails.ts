import type { Tx } from "../lib/database/database.ts";

/**
 * Stores the email address (in lower case) by which a user signs in; replaces the user's former one and voids the links
 * that were sent there.
 */
export async function storeSignInEmail(
  tx: Tx,
  user: { readonly account_id: number; readonly user_id: number; readonly email: string },
): Promise<void> {
  await tx
    .deleteFrom("sign_in_emails")
    .where("account_id", "=", user.account_id)
    .where("user_id", "=", user.user_id)
    .execute();
  await voidSignInLinks(tx, user);
  await tx.insertInto("sign_in_emails").values(user).execute();
}

/** Deletes the links that sign a user in. */
export async function voidSignInLinks(
  tx: Tx,
  { account_id, user_id }: { readonly account_id: number; readonly user_id: number },
): Promise<void> {
  await tx
    .deleteFrom("sign_in_links")
    .where("account_id", "=", account_id)
    .where("user_id", "=", user_id)
    .execute();
}
