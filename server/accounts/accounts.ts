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
    .select([
      "account_id as id",
      "name",
      "features",
      "country_code",
      "time_zone",
      "chat_writes_a_minute",
      "chat_valid_numbers_only",
      "chat_stop_words",
      "chat_quiet_from",
      "chat_quiet_to",
      "chat_error_percent",
    ]);
}

type Row = Awaited<ReturnType<ReturnType<typeof accountRows>["executeTakeFirstOrThrow"]>>;

function accountAnswer(row: Row): AccountAnswer {
  return {
    id: row.id,
    name: row.name,
    features: row.features as Feature[],
    country_code: row.country_code,
    time_zone: row.time_zone,
    chat: {
      writes_a_minute: row.chat_writes_a_minute,
      valid_numbers_only: row.chat_valid_numbers_only,
      stop_words: row.chat_stop_words,
      quiet_from: row.chat_quiet_from?.slice(0, "hh:mm".length) ?? null,
      quiet_to: row.chat_quiet_to?.slice(0, "hh:mm".length) ?? null,
      error_percent: row.chat_error_percent,
    },
  };
}
