// The deliverer of one endpoint, under its lease: claims due deliveries, sends them and records their
// results. One statement per iteration records and claims.
import type { App } from "../../../engine/app.ts";
import type { WorkerContext } from "../../../engine/leased-workers.ts";
import { isLeaseLost, type Lease } from "../../../engine/leases.ts";
import { settledWithin } from "../../../lib/settled-within.ts";
import { disableEndpoint } from "../../endpoints/disable-endpoint.ts";
import { attemptDelivery } from "./attempt-delivery.ts";
import { hasFailedTooLong } from "./decide-after-attempt.ts";
import { recordAndClaimDeliveries } from "./delivery-batch.ts";
import { openDeliverer, type Deliverer } from "./deliverer.ts";

const retry_ms = 200;
/** The shortest wait for a delivery that is not due yet. */
const due_wait_ms = 20;
/** A deliverer that is idle for this long ends and releases its lease. */
const linger_ms = 2_000;
/** How long requests in flight may take after the process begins to stop. */
const drain_ms = 4_000;

/**
 * Delivers until nothing is due for a while, the lease is lost or `stopping` is aborted. When it resolves,
 * no request is in flight.
 */
export async function runDeliverer(
  app: App,
  lease: Lease,
  endpointId: number,
  { stopping, onOpen }: WorkerContext,
): Promise<void> {
  const deliverer = openDeliverer({ app, lease, endpoint_id: endpointId, stopping });
  onOpen({ wake: () => deliverer.wake() });
  const { in_flight } = deliverer;
  const cut = openCut(deliverer);
  const begin = () => {
    while (in_flight.size < deliverer.window && deliverer.waiting.length > 0) {
      if (!maySend(deliverer)) return;
      const due = deliverer.waiting.shift()!;
      in_flight.add(due.id);
      void attemptDelivery(deliverer, due, deliverer.endpoint!, cut.signal).finally(() => {
        in_flight.delete(due.id);
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
      await recordAndClaim(deliverer);
      begin();
      if (in_flight.size > 0) busy_ms = performance.now();
      going = await shouldContinue(deliverer, rest, busy_ms);
    } catch (err) {
      if (isLeaseLost(err)) break;
      const about = { account_id: lease.account_id, subject_id: deliverer.endpoint_id };
      app.log.warn({ err, ...about }, "could not record or claim deliveries; retrying");
      // Results cannot be recorded without the database; a stop does not wait for it.
      if (stopping.aborted) break;
      await rest(retry_ms);
    }
  }
  cut.end();
  while (in_flight.size > 0) await openRest(deliverer)(retry_ms);
}

/** Aborts requests in flight: immediately when the lease is lost, and `drain_ms` after the stop. */
function openCut({ lease, stopping }: Deliverer) {
  const cut = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const end = () => cut.abort();
  const endSoon = () => (timer = setTimeout(end, drain_ms));
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

/** Returns a wait that `wake` ends, also if called before the wait; it resolves with whether it was woken. */
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

/** Records results and claims due deliveries. */
async function recordAndClaim(deliverer: Deliverer): Promise<void> {
  const { app, lease, in_flight, waiting, window } = deliverer;
  if (deliverer.disable) await disableNow(deliverer, deliverer.disable);
  const may = maySend(deliverer);
  if (!may) waiting.length = 0;
  // Twice the window, so that the next request need not wait for the database.
  const room = may ? 2 * window - in_flight.size - waiting.length : 0;
  const found = await recordAndClaimDeliveries(app, deliverer, Math.max(0, room));
  deliverer.endpoint = found?.endpoint ?? null;
  // By the recorded state: a success that an attempt did not see yet restarts the period.
  if (found?.failed && hasFailedTooLong(found.endpoint.failing_since, app.clock.now()))
    deliverer.disable ??= { reason: "failing", url: found.endpoint.url };
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

function maySend({ app, lease, stopping, resume_at, endpoint, disable }: Deliverer): boolean {
  const now = app.clock.now();
  const isPaused = [resume_at, endpoint?.resume_at].some((until) => until && until > now);
  return !isPaused && !disable && !stopping.aborted && lease.mayProceed();
}

/** Waits until the next iteration is useful; returns false when the deliverer should end. */
async function shouldContinue(
  deliverer: Deliverer,
  rest: (ms: number) => Promise<boolean>,
  busy_ms: number,
): Promise<boolean> {
  const { app, lease, stopping, in_flight, results, endpoint } = deliverer;
  if (results.length > 0 || deliverer.disable) return true;
  if (in_flight.size > 0) {
    await rest(linger_ms);
    return true;
  }
  if (!endpoint?.enabled || stopping.aborted || !lease.mayProceed()) return false;
  const due_in_ms = (endpoint.work_at?.getTime() ?? Infinity) - app.clock.now().getTime();
  if (due_in_ms <= linger_ms) {
    await rest(Math.max(due_wait_ms, due_in_ms));
    return true;
  }
  // Wake-ups do not extend the wait: they may be for other endpoints of the account.
  const left_ms = busy_ms + linger_ms - performance.now();
  return left_ms > 0 && rest(left_ms);
}
