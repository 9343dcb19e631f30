// Whose records somebody should look at: found by an index, whatever the number of accounts.
import type { App } from "../engine/app.ts";
import { statement } from "../lib/database/database.ts";

const page_accounts = 500;
const hours_ms = 3_600_000;

export type DueAccount = {
  readonly account_id: number;
  /** As PostgreSQL writes it, to the microsecond: what tells whether it has been changed meanwhile. */
  readonly due_at: string;
};

/** How long an account is left alone: some six hours, so that all accounts spread over them. */
export function anew_ms({ random }: Pick<App, "random">): number {
  return (5 + 2 * random()) * hours_ms;
}

/** Each account that is due now, once, the longest waiting first. */
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
