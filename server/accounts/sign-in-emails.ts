import type { Tx } from "../lib/database/database.ts";

/** Stores the email address (in lower case) by which a user signs in; replaces the user's former one. */
export async function storeSignInEmail(
  tx: Tx,
  user: { readonly account_id: number; readonly user_id: number; readonly email: string },
): Promise<void> {
  await tx
    .deleteFrom("sign_in_emails")
    .where("account_id", "=", user.account_id)
    .where("user_id", "=", user.user_id)
    .execute();
  await tx.insertInto("sign_in_emails").values(user).execute();
}
