// Delivers to one endpoint, under its lease: takes what is due, sends it, records how that went, one
// statement at a time.
import type { App } from "../../../engine/app.ts";
import type { WorkerContext } from "../../../engine/leased-workers.ts";
import { isLeaseLost, type Lease } from "../../../engine/leases.ts";
import { settledWithin } from "../../../lib/settled-within.ts";
import { disableEndpoint } from "../../endpoints/disable-endpoint.ts";
import { attemptDelivery } from "./attempt-delivery.ts";
import { callbackTurn } from "./delivery-batch.ts";
import { openDeliverer, type Deliverer } from "./deliverer.ts";

const retry_ms = 200;
/** Between two looks at what cannot begin yet. */
const look_ms = 20;
/** An endpoint that has nothing to do for so long is given back. */
const linger_ms = 2_000;
/** What is under way when the process stops has so long left. */
const farewell_ms = 4_000;

/** Delivers until nothing is due for a while, the lease is lost or a stop is asked for; then nothing is under way. */
export async function runDeliverer(
  app: App,
  lease: Lease,
  endpointId: number,
  { stopping, onOpen }: WorkerContext,
): Promise<void> {
  const deliverer = openDeliverer({ app, lease, endpoint_id: endpointId, stopping });
  onOpen({ wake: () => deliverer.wake() });
  const { under_way } = deliverer;
  const cut = openCut(deliverer);
  const begin = () => {
    while (under_way.size < deliverer.window && deliverer.waiting.length > 0) {
      if (!mayBegin(deliverer)) return;
      const due = deliverer.waiting.shift()!;
      under_way.add(due.id);
      void attemptDelivery(deliverer, due, deliverer.endpoint!, cut.signal).finally(() => {
        under_way.delete(due.id);
        begin();
        deliverer.wake();
      });
    }
  };

  let going = true;
  let busy_ms = performance.now();
  while (going && !lease.lost.aborted) {
    const rest = openRest(deliverer);
    try {
      await turn(deliverer);
      begin();
      if (under_way.size > 0) busy_ms = performance.now();
      going = await isWorthGoingOn(deliverer, rest, busy_ms);
    } catch (err) {
      if (isLeaseLost(err)) break;
      const about = { account_id: lease.account_id, subject_id: deliverer.endpoint_id };
      app.log.warn({ err, ...about }, "a turn of deliveries failed; trying again");
      // Without the database nothing can be recorded: who stops does not wait for it.
      if (stopping.aborted) break;
      await rest(retry_ms);
    }
  }
  cut.end();
  while (under_way.size > 0) await openRest(deliverer)(retry_ms);
}

/** Ends what is under way: at once when the lease is lost, some time after the stop. */
function openCut({ lease, stopping }: Deliverer) {
  const cut = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const end = () => cut.abort();
  const endSoon = () => (timer = setTimeout(end, farewell_ms));
  lease.lost.addEventListener("abort", end);
  stopping.addEventListener("abort", endSoon);
  return {
    signal: cut.signal,
    end() {
      lease.lost.removeEventListener("abort", end);
      stopping.removeEventListener("abort", endSoon);
      clearTimeout(timer);
      end();
    },
  };
}

/** A wait that `wake` ends, also when it came before; true when it was woken. */
function openRest(deliverer: Deliverer): (ms: number) => Promise<boolean> {
  const resting = Promise.withResolvers<void>();
  let woken = false;
  deliverer.wake = () => {
    woken = true;
    resting.resolve();
  };
  return async (ms) => {
    await settledWithin(resting.promise, ms);
    return woken;
  };
}

/** Records what ended and takes what is due. */
async function turn(deliverer: Deliverer): Promise<void> {
  const { app, lease, under_way, waiting, window } = deliverer;
  if (deliverer.disable) await disableNow(deliverer, deliverer.disable);
  const may = mayBegin(deliverer);
  if (!may) waiting.length = 0;
  // As many again as may be under way, so that none waits for the database.
  const room = may ? 2 * window - under_way.size - waiting.length : 0;
  const found = await callbackTurn(app, deliverer, Math.max(0, room));
  deliverer.endpoint = found?.endpoint ?? null;
  if (found?.endpoint.enabled && !lease.lost.aborted) waiting.push(...found.due);
  else waiting.length = 0;
}

async function disableNow(
  deliverer: Deliverer,
  { reason, url }: NonNullable<Deliverer["disable"]>,
): Promise<void> {
  const { app, lease, endpoint_id } = deliverer;
  const endpoint = { account_id: lease.account_id, endpoint_id, url };
  await app.db.query
    .transaction()
    .execute((tx) => disableEndpoint(tx, endpoint, reason, app.clock.now()));
  deliverer.disable = null;
}

function mayBegin({ app, lease, stopping, resume_at, endpoint, disable }: Deliverer): boolean {
  const now = app.clock.now();
  const isPaused = [resume_at, endpoint?.resume_at].some((until) => until && until > now);
  return !isPaused && !disable && !stopping.aborted && lease.mayAct();
}

/** Waits for the next reason for a turn; false when there will be none for a while. */
async function isWorthGoingOn(
  deliverer: Deliverer,
  rest: (ms: number) => Promise<boolean>,
  busy_ms: number,
): Promise<boolean> {
  const { app, lease, stopping, under_way, results, endpoint } = deliverer;
  if (results.length > 0 || deliverer.disable) return true;
  if (under_way.size > 0) {
    await rest(linger_ms);
    return true;
  }
  if (!endpoint?.enabled || stopping.aborted || !lease.mayAct()) return false;
  const due_in_ms = (endpoint.work_at?.getTime() ?? Infinity) - app.clock.now().getTime();
  if (due_in_ms <= linger_ms) {
    await rest(Math.max(look_ms, due_in_ms));
    return true;
  }
  // However often it is woken: what others of the account have to do is no reason to stay.
  const left_ms = busy_ms + linger_ms - performance.now();
  return left_ms > 0 && rest(left_ms);
}
