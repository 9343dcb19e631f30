import { setTimeout as delay } from "node:timers/promises";
import type { Call } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import { transition } from "../../state-machine/transition.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { keyOf, optsOut, suppressCaller } from "./apply-side-effects.ts";

const retry_ms = 200;
const retry_ms_max = 10_000;
/** A failure that lasts longer is not an outage of the database. */
const give_up_ms = 24 * 3_600_000;

/**
 * Records the opt-out of a caller by an event that this node leader cannot store: the next one continues the call as
 * it is stored, and never gets the event. Follows the call from one such event to the next, because a key may be
 * pressed in a menu that another has opened.
 */
export function keepOptOut(leader: Leader, live: LiveCall, event: CallEvent): void {
  const before = live.unstored ?? live.call;
  if (!before.voice) return;
  const next = transition(before, live.line, event);
  if (!next) return;
  live.unstored = next.call;
  // The conversation records what an AI agent understands.
  if (event.type === "tool" || !optsOut(before, next.call)) return;
  leader.lastWords.add(recordLateOptOut(leader, next.call, keyOf(before, next.call)));
}

/**
 * Records the opt-out of a caller whose call has ended or belongs to another node leader; a call of the recipient that
 * waits is skipped. Needs no lease, because it is the same for every node leader: it is retried until it is stored or
 * the process stops. `key` is null if the caller said it. Never throws.
 */
export async function recordLateOptOut(
  { app, lastWords }: Pick<Leader, "app" | "lastWords">,
  call: Call,
  key: string | null,
): Promise<void> {
  const since_ms = performance.now();
  for (let wait_ms = retry_ms; ; wait_ms = Math.min(2 * wait_ms, retry_ms_max)) {
    try {
      return await storeOptOut(app, call, key);
    } catch (err) {
      const at = { account_id: call.account_id, call_id: call.id };
      if (lastWords.over.aborted || performance.now() - since_ms > give_up_ms)
        return app.log.error({ err, ...at }, "could not record an opt-out");
      app.log.warn({ err, ...at }, "could not record an opt-out; retrying");
      await delay(wait_ms, null, { signal: lastWords.over }).catch(() => {});
    }
  }
}

async function storeOptOut(
  { db, clock }: Leader["app"],
  call: Call,
  key: string | null,
): Promise<void> {
  await db.query.transaction().execute(async (tx) => {
    await tx
      .updateTable("calls")
      .set({ opted_out: true })
      .where("account_id", "=", call.account_id)
      .where("id", "=", call.id)
      .execute();
    await suppressCaller(tx, call, key, clock.now());
  });
}
