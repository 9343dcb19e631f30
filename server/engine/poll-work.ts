// Polls for several loops at once: a single statement asks which of them have work, so that an idle process asks
// little of its database. Why so: docs/decisions/2026-11-25-one-poll-for-all-loops.md.
import { statement } from "../lib/database/database.ts";
import type { App } from "./app.ts";
import { restAfterPoll } from "./rest-after-poll.ts";
import { runLoop, type Loop } from "./run-loop.ts";

/** Loops that wait for this poll or a notification. */
export type Polled = {
  readonly loops: readonly Loop[];
  /**
   * Queries without a select list; `$1` is the time. When the loops have work, at least one returns a row. One that
   * returns a row without work only costs an iteration. Each names the order of its index: for one row of any, a plan
   * may read the whole table.
   */
  readonly due: readonly string[];
  /** Whether the loops also have something to do without due work. */
  readonly isActive?: () => boolean;
};

/** SQL: whether the account of the rows of `alias` is not frozen. Work of a frozen account waits. */
export const isUnfrozen = (alias: string) =>
  `not exists (select from accounts a where a.account_id = ${alias}.account_id and a.frozen_at is not null)`;

/** Wakes the loops that have work; when the poll fails, every loop, so that one query stops no other loop. */
export function pollWork(
  app: Pick<App, "clock" | "db" | "log" | "notifications">,
  { name, poll_ms }: { readonly name: string; readonly poll_ms: number },
  polled: readonly Polled[],
): Loop {
  const findWork = statement<{ place: number }>(
    polled
      .flatMap(({ due }, place) =>
        due.map((query) => `(select ${place} as place ${query} limit 1)`),
      )
      .join(" union all "),
  );
  const wake = (found: ReadonlySet<number>) => {
    for (const [place, { loops, isActive }] of polled.entries())
      if (found.has(place) || isActive?.()) for (const loop of loops) loop.wake();
  };
  let isIdle = false;
  return runLoop(app, {
    name,
    poll_ms,
    restMs: (took_ms) => restAfterPoll(app.db, { took_ms, isIdle }),
    async iterate() {
      isIdle = false;
      try {
        const found = await findWork(app.db.pool, [app.clock.now()]);
        isIdle = found.length === 0;
        wake(new Set(found.map(({ place }) => place)));
      } catch (err) {
        wake(new Set(polled.keys()));
        throw err;
      }
      return 0;
    },
  });
}
