// The accounts whose expired records are due to be deleted, found by an index.
import type { App } from "../engine/app.ts";
import { statement } from "../lib/database/database.ts";

const page_accounts = 500;
const hours_ms = 3_600_000;

export type DueAccount = {
  readonly account_id: number;
  /** In PostgreSQL's text form, to the microsecond, to detect concurrent changes. */
  readonly due_at: string;
};

/** Returns the time until an account is due again: 5 to 7 hours, random so that accounts spread out. */
export function nextCheckMs({ random }: Pick<App, "random">): number {
  return (5 + 2 * random()) * hours_ms;
}

/** Yields each account that is due now, once, the longest waiting first. */
export async function* findDueAccounts(
  app: Pick<App, "db" | "clock">,
  what: "retention" | "recordings",
): AsyncGenerator<DueAccount> {
  const now = app.clock.now();
  let last: DueAccount = { account_id: 0, due_at: "-infinity" };
  for (;;) {
    const values = [now, last.due_at, last.account_id, page_accounts];
    const found = await find[what](app.db.pool, values);
    yield* found;
    if (found.length < page_accounts) return;
    last = found.at(-1)!;
  }
}

const find = {
  retention: findBy("retention_due_at"),
  recordings: findBy("recordings_due_at"),
};

function findBy(column: string) {
  return statement<DueAccount>(`
    select account_id, ${column}::text as due_at from accounts
    where ${column} <= $1 and (${column}, account_id) > ($2::text::timestamptz, $3)
    order by ${column}, account_id limit $4`);
}
