import type { Kysely } from "kysely";
import type { DB } from "../lib/database.ts";
import { notFound } from "../lib/errors.ts";
import type { AccountAnswer } from "./account-schema.ts";
import type { Feature } from "./permissions.ts";

/** The account, or not-found. */
export async function findAccount(db: Kysely<DB>, accountId: number): Promise<AccountAnswer> {
  const row = await accountRows(db).where("account_id", "=", accountId).executeTakeFirst();
  if (!row) throw notFound();
  return accountAnswer(row);
}

/** Every account of the installation, for its operator. */
export async function listAccounts(db: Kysely<DB>): Promise<AccountAnswer[]> {
  return (await accountRows(db).orderBy("account_id").execute()).map(accountAnswer);
}

function accountRows(db: Kysely<DB>) {
  return db
    .selectFrom("accounts")
    .select(["account_id as id", "name", "features", "country_code", "time_zone"]);
}

function accountAnswer(row: Omit<AccountAnswer, "features"> & { features: string[] }) {
  return { ...row, features: row.features as Feature[] };
}
