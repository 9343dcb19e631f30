// Failed sign-ins and requested mails are counted in the database, so that more processes do not allow more of them.
import { addressGroup } from "../../lib/addresses/address-group.ts";
import { statement, type Database } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { openShares } from "../../lib/shares.ts";

const window_minutes = 15;
/** By email and address, and by each alone: one stranger's guesses do not lock out the person at another address. */
const failures_max = { both: 10, email: 100, address: 100 } as const;

/**
 * Anyone can send attempts, so these get few connections. Those of one address wait for its row anyway: here they wait
 * without holding a connection.
 */
const attempts_at_once_max = 2;
const attempts_of_holder_max = 1;
const attempts_waiting_max = 100;
const attempts = openShares<string>(
  attempts_at_once_max,
  attempts_of_holder_max,
  attempts_waiting_max,
);

const retry_seconds = `greatest(1, ceil(extract(epoch from
    began_at + interval '${window_minutes} minutes' - $2)))::int as retry_seconds`;

// An attempt beyond a limit adds no row: with an email address for each, one address would fill the table.
const findCounts = statement<{ subject: string; count: number; retry_seconds: number }>(`
  select subject, count, ${retry_seconds} from sign_in_failures
  where subject = any($1::text[]) and began_at > $2::timestamptz - interval '${window_minutes} minutes'`);

// Counted before the password is checked: guesses sent at once count like guesses one after the other.
const countAttempt = statement<{ count: number; retry_seconds: number }>(`
  insert into sign_in_failures as f (subject, began_at, count) values ($1, $2, 1)
  on conflict (subject) do update set
    began_at = case when f.began_at > excluded.began_at - interval '${window_minutes} minutes'
      then f.began_at else excluded.began_at end,
    count = case when f.began_at > excluded.began_at - interval '${window_minutes} minutes'
      then f.count + 1 else 1 end
  returning count, ${retry_seconds}`);

const uncount = statement(`
  update sign_in_failures set count = count - 1 where subject = any($1::text[]) and count > 0`);

const deleteExpired = statement(
  `delete from sign_in_failures where began_at < $1::timestamptz - interval '${window_minutes} minutes'`,
);

/** It reads the whole table. An expired row only takes space, because the next attempt begins its count again. */
const purge_ms = 60_000;
const purged_at_ms = new WeakMap<Database, number>();

/** Deletes expired counts, at most once a minute in this process. */
async function purge(db: Database, now: Date): Promise<void> {
  const now_ms = now.getTime();
  if (now_ms - (purged_at_ms.get(db) ?? Number.NEGATIVE_INFINITY) < purge_ms) return;
  purged_at_ms.set(db, now_ms);
  await deleteExpired(db.pool, [now]);
}

export type Attempt = { readonly email: string; readonly address: string };

/** Counts an attempt; 429 with Retry-After once too many failed. */
export async function countSignIn(db: Database, attempt: Attempt, now: Date): Promise<void> {
  await countWithin(
    db,
    addressGroup(attempt.address),
    subjectsOf(attempt),
    now,
    (minutes) => `Too many failed sign-ins; try again in ${minutes} min or reset the password`,
  );
}

/**
 * Counts each subject up to its limit in a quarter of an hour; 429 with Retry-After at the first that is beyond it. Those
 * after it do not count the attempt, and none does if the limit was reached before it. The counts of a holder, such as an address group or a user, run one after
 * another; 503 when too many of them wait.
 */
export async function countWithin(
  db: Database,
  holder: string,
  limits: ReadonlyMap<string, number>,
  now: Date,
  detail: (minutes: number) => string,
): Promise<void> {
  const seconds = await attempts.use(holder, async () => {
    await purge(db, now);
    const known = await findCounts(db.pool, [[...limits.keys()], now]);
    const counts = new Map(known.map((row) => [row.subject, row]));
    for (const [subject, limit] of limits) {
      const row = counts.get(subject);
      if (row && row.count >= limit) return row.retry_seconds;
    }
    for (const [subject, limit] of limits) {
      const [row] = await countAttempt(db.pool, [subject, now]);
      if (row!.count > limit) return row!.retry_seconds;
    }
    return null;
  });
  if (seconds === null) return;
  throw new Refusal("rate-limited", detail(Math.ceil(seconds / 60)), {
    headers: { "retry-after": String(seconds) },
  });
}

/** Reports whether nothing was used under this name within a quarter of an hour; of two at the same time, one is first. */
export async function useOnce(db: Database, name: string, now: Date): Promise<boolean> {
  return attempts.use(name, async () => {
    await purge(db, now);
    const [row] = await countAttempt(db.pool, [name, now]);
    return row!.count === 1;
  });
}

/**
 * Runs the look-up of a link that anyone can send: one at a time for the group of the sender's address, and few in all;
 * 503 when too many of the group wait.
 */
export function lookUpFrom<Answer>(
  address: string,
  lookUp: () => Promise<Answer>,
): Promise<Answer> {
  return attempts.use(addressGroup(address), lookUp);
}

/** Takes a successful attempt out of the count. */
export async function forgiveSignIn(db: Database, attempt: Attempt): Promise<void> {
  await forgive(db, [...subjectsOf(attempt).keys()]);
}

/** Takes one attempt of each subject out of the count. */
export async function forgive(db: Database, subjects: readonly string[]): Promise<void> {
  await uncount(db.pool, [subjects]);
}

/** The counted subjects with their limits. The email is last: a refused attempt must not count for all addresses. */
function subjectsOf({ email, address }: Attempt): Map<string, number> {
  const group = addressGroup(address);
  return new Map([
    [`${email} from ${group}`, failures_max.both],
    [`address ${group}`, failures_max.address],
    [`email ${email}`, failures_max.email],
  ]);
}
