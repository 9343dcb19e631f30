// Leads on their way into the database. While a batch of an account is under way, its arriving leads
// gather and go together when it is done: no timer, so an idle server adds no delay.
import type { App } from "../../engine/app.ts";
import { statement, type Executor } from "../../lib/database/database.ts";
import { isDatabaseUnavailable } from "../../lib/database/database-errors.ts";
import { unavailable } from "../../lib/errors.ts";
import type { Metrics } from "../../lib/metrics.ts";

/** A lead validated against a version of its workspace's schema: what create_leads takes. */
export type LeadRow = {
  readonly workspace_id: number;
  readonly schema_version: number;
  readonly name: string;
  readonly email: string | null;
  readonly phone: string;
  readonly phone_e164: string;
  readonly assigned_agent_id: number | null;
  readonly contact_id: number | null;
  readonly status_id: number;
  readonly source_id: number | null;
  readonly priority_id: number;
  readonly custom_fields: Readonly<Record<string, unknown>>;
  readonly created_by: number;
};

export type LeadVerdict = {
  readonly verdict: "created" | "not-found" | "retry" | "INVALID_AGENT" | "INVALID_CONTACT";
  readonly lead_id: number | null;
  readonly contact_id: number | null;
  readonly contact_name: string | null;
  readonly contact_phone: string | null;
  readonly created_at: Date;
};

export type LeadIntake = {
  /** Resolves when the lead is committed or refused; 503 when the database is away or too much waits. */
  create(accountId: number, lead: LeadRow): Promise<LeadVerdict>;
};

type Waiting = {
  readonly lead: LeadRow;
  readonly resolve: (verdict: LeadVerdict) => void;
  readonly reject: (error: unknown) => void;
};

/**
 * Accounts that are written for at once. One batch at a time for each: two were slower (6,900 leads/s
 * over 64 connections, 8,600 in one), and an account that waits for a lock holds up only itself.
 */
const lanes_max = 4;
const batch_rows_max = 128;
const waiting_max = 5_000;
/** Of one account: a single connection can pipeline thousands, and the others must find room. */
const account_waiting_max = 4_000;

export function openLeadIntake(
  app: App,
  metrics: Pick<Metrics, "leadBatchRows" | "leadsCreated" | "leadsWaiting">,
): LeadIntake {
  // Insertion order is the accounts' turn: one that was served goes to the end.
  const queues = new Map<number, Waiting[]>();
  /** Accounts with a batch under way. */
  const busy = new Set<number>();
  let waiting = 0;
  let lanes = 0;

  /** The next batch of the first account that has none under way. */
  const next = (): [number, Waiting[]] | null => {
    for (const [accountId, queue] of queues) {
      if (busy.has(accountId)) continue;
      busy.add(accountId);
      queues.delete(accountId);
      const batch = queue.splice(0, batch_rows_max);
      if (queue.length > 0) queues.set(accountId, queue);
      waiting -= batch.length;
      return [accountId, batch];
    }
    return null;
  };

  const runLane = async () => {
    let turn = next();
    while (turn) {
      const [accountId, batch] = turn;
      metrics.leadBatchRows.observe(batch.length);
      metrics.leadsWaiting.set(waiting);
      const tell = await writeBatch(app, accountId, batch, metrics);
      busy.delete(accountId);
      turn = next();
      // The next batch leaves first: rendering the answers of 30 leads takes a millisecond, in
      // which PostgreSQL would have nothing to do.
      if (turn) setImmediate(tell);
      else tell();
    }
    lanes--;
  };

  return {
    create(accountId, lead) {
      const queue = queues.get(accountId);
      if (waiting >= waiting_max || (queue?.length ?? 0) >= account_waiting_max)
        return Promise.reject(unavailable(new Error("too many leads wait for the database")));
      const { promise, resolve, reject } = Promise.withResolvers<LeadVerdict>();
      if (queue) queue.push({ lead, resolve, reject });
      else queues.set(accountId, [{ lead, resolve, reject }]);
      waiting++;
      if (lanes < lanes_max && !busy.has(accountId)) {
        lanes++;
        // After this turn of the event loop: requests that arrived together go together.
        setImmediate(() => void runLane());
      }
      return promise;
    },
  };
}

/** Writes a batch and returns what tells its callers. */
async function writeBatch(
  app: App,
  accountId: number,
  batch: Waiting[],
  metrics: Pick<Metrics, "leadsCreated">,
): Promise<() => void> {
  try {
    const verdicts = await createLeads(
      app.db.pool,
      accountId,
      batch.map(({ lead }) => lead),
      app.clock.now(),
    );
    metrics.leadsCreated.inc(verdicts.filter(({ verdict }) => verdict === "created").length);
    return () => {
      for (const [i, { resolve }] of batch.entries()) resolve(verdicts[i]!);
    };
  } catch (error) {
    // The connection may have died at the commit: whether the leads exist is not known here.
    const reason = isDatabaseUnavailable(error) ? unavailable(error) : error;
    if (reason !== error || batch.length === 1)
      return () => {
        for (const { reject } of batch) reject(reason);
      };
    // One bad row must not fail its neighbours.
    for (const one of batch) (await writeBatch(app, accountId, [one], metrics))();
    return () => {};
  }
}

const callCreateLeads = statement<Omit<LeadVerdict, "created_at"> & { ordinal: number }>(
  "select ordinal, verdict, lead_id, contact_id, contact_name, contact_phone from create_leads($1, $2, $3)",
);

/** One call of create_leads; the verdicts stand in the order of the leads. */
export async function createLeads(
  executor: Executor,
  accountId: number,
  leads: readonly LeadRow[],
  now: Date,
): Promise<LeadVerdict[]> {
  const rows = JSON.stringify(leads.map((lead, ordinal) => ({ ordinal, ...lead })));
  const verdicts: LeadVerdict[] = [];
  for (const { ordinal, ...verdict } of await callCreateLeads(executor, [accountId, rows, now])) {
    verdicts[ordinal] = { ...verdict, created_at: now };
  }
  return verdicts;
}
