// An account is created with its owner, the user that account tokens authenticate as.
import { statement, type Tx } from "../../lib/database/database.ts";
import type { Feature } from "../permissions.ts";
import { storeSignInEmail } from "../sign-in-emails.ts";

export type NewAccount = {
  readonly name: string;
  readonly features: readonly Feature[];
  readonly owner: { readonly name: string; readonly email: string };
  readonly country_code?: string | undefined;
  readonly time_zone?: string | undefined;
};

/** Creates the account and its owner, who needs no role. */
export async function createAccount(
  tx: Tx,
  account: NewAccount,
  now: Date,
): Promise<{ account_id: number; owner_id: number }> {
  const { account_id } = await tx
    .insertInto("accounts")
    .values({
      account_id: await newAccountId(tx),
      name: account.name,
      features: [...account.features],
      ...(account.country_code ? { country_code: account.country_code } : {}),
      ...(account.time_zone ? { time_zone: account.time_zone } : {}),
      created_at: now,
      updated_at: now,
    })
    .returning("account_id")
    .executeTakeFirstOrThrow();
  const email = account.owner.email.toLowerCase();
  const owner = await tx
    .insertInto("users")
    .values({
      account_id,
      name: account.owner.name,
      email,
      is_owner: true,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await storeSignInEmail(tx, { account_id, user_id: owner.id, email });
  return { account_id, owner_id: owner.id };
}

/** The next ID that no imported account has: those keep the ID that another installation gave them. */
async function newAccountId(tx: Tx): Promise<number> {
  for (;;) {
    const [next] = await nextAccountId(tx, []);
    const taken = await findTaken(tx, [next!.id]);
    if (taken.length === 0) return next!.id;
  }
}

const nextAccountId = statement<{ id: number }>(
  "select nextval(pg_get_serial_sequence('accounts', 'account_id')) as id",
);

const findTaken = statement("select 1 from accounts where account_id = $1");
