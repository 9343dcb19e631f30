import { setTimeout as delay } from "node:timers/promises";
import type { Call } from "../../state-machine/call.ts";
import type { Leader } from "../node/leader.ts";
import { suppressCaller } from "./apply-side-effects.ts";

const retry_ms = 200;
const retry_ms_max = 10_000;
/** A failure that lasts longer is not an outage of the database. */
const give_up_ms = 24 * 3_600_000;

/**
 * Records the opt-out of a caller whose call has ended or belongs to another node leader; a call of the recipient that
 * waits is skipped. Needs no lease, because it is the same for every node leader: it is retried until it is stored or
 * the process stops.
 */
export async function recordLateOptOut(
  { app, lastWords }: Pick<Leader, "app" | "lastWords">,
  call: Call,
): Promise<void> {
  const since_ms = performance.now();
  for (let wait_ms = retry_ms; ; wait_ms = Math.min(2 * wait_ms, retry_ms_max)) {
    try {
      return await storeOptOut(app, call);
    } catch (err) {
      if (lastWords.over.aborted || performance.now() - since_ms > give_up_ms) throw err;
      const { account_id, id: call_id } = call;
      app.log.warn({ err, account_id, call_id }, "could not record an opt-out; retrying");
      await delay(wait_ms, null, { signal: lastWords.over }).catch(() => {});
    }
  }
}

async function storeOptOut({ db, clock }: Leader["app"], call: Call): Promise<void> {
  await db.query.transaction().execute(async (tx) => {
    await tx
      .updateTable("calls")
      .set({ opted_out: true })
      .where("account_id", "=", call.account_id)
      .where("id", "=", call.id)
      .execute();
    await suppressCaller(tx, call, null, clock.now());
  });
}
