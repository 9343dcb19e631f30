// Stores a transition together with its side effects.
import type { Database, Tx } from "../../../lib/database/database.ts";
import { addAttempt } from "../../controls/add-attempt.ts";
import type { Call, Line } from "../../state-machine/call.ts";
import type { Transition } from "../../state-machine/events-and-commands.ts";
import { answerRequest } from "../../state-machine/transition.ts";
import { writeTransition } from "../../state-machine/write-transition.ts";
import { applySideEffects, hasSideEffects } from "./apply-side-effects.ts";

/**
 * Stores the transition from `before` in one transaction with its side effects and the answer to
 * `queue_retry`, and returns what was stored. The credit that the end of the call releases pays for the
 * retry; if it is insufficient, the trunk is inactive or no node is left, the transaction is rolled back and the end is stored
 * without a retry. Fails as writeTransition does.
 */
export async function storeTransition(
  db: Database,
  fence: number,
  { before, line, next }: { readonly before: Call; readonly line: Line; readonly next: Transition },
  now: Date,
): Promise<Transition> {
  if (next.request?.type !== "queue_retry") {
    await store(db, fence, before, next, now);
    return next;
  }
  const { due_at } = next.request;
  const queued = answerRequest(next, line, { type: "retry_queued", due_at, at: now });
  if (await storeWithRetry(db, fence, before, queued, now)) return queued;
  const refused = answerRequest(next, line, { type: "retry_refused", at: now });
  await store(db, fence, before, refused, now);
  return refused;
}

async function store(
  { pool, query }: Database,
  fence: number,
  before: Call,
  next: Transition,
  now: Date,
): Promise<void> {
  if (!hasSideEffects(before, next.call)) {
    await writeTransition(pool, fence, before, next, now);
    return;
  }
  await query.transaction().execute(async (tx) => {
    const isNew = await writeTransition(tx, fence, before, next, now);
    if (isNew) await applySideEffects(tx, before, next.call, now);
  });
}

/** Thrown to roll back the end of a call whose retry is refused. */
const no_retry = new Error("the retry is refused");

/** Stores the end of a call and queues its retry; false, without any effect, if that is refused. */
async function storeWithRetry(
  { query }: Database,
  fence: number,
  before: Call,
  next: Transition,
  now: Date,
): Promise<boolean> {
  try {
    await query.transaction().execute(async (tx) => {
      const isNew = await writeTransition(tx, fence, before, next, now);
      if (isNew && hasSideEffects(before, next.call))
        await applySideEffects(tx, before, next.call, now);
      if (isNew && !(await queueRetry(tx, next.call, now))) throw no_retry;
    });
    return true;
  } catch (error) {
    if (error === no_retry) return false;
    throw error;
  }
}

async function queueRetry(
  tx: Tx,
  { account_id, campaign_id, retry_at }: Call,
  now: Date,
): Promise<boolean> {
  const retry = { account_id, campaign_id, retried_leg: null, due_at: retry_at! };
  return typeof (await addAttempt(tx, retry, now)) !== "string";
}
