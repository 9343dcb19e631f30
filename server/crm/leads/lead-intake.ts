// Creates leads by group commit.
import type { App } from "../../engine/app.ts";
import { openGroupCommit, type GroupCommitLimits } from "../../engine/group-commit.ts";
import { statement, type Executor } from "../../lib/database/database.ts";
import type { Metrics } from "../../lib/metrics.ts";

/** A lead that was validated against a version of its workspace's schema: an argument of create_leads. */
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
  /** Resolves when the lead is committed or refused; 503 if the database is unreachable or the queue is full. */
  create(accountId: number, lead: LeadRow): Promise<LeadVerdict>;
};

/**
 * One batch at a time per account: two were slower (6,900 leads/s over 64 connections, 8,600 with one), and
 * an account that waits for a lock delays only itself.
 */
const limits = {
  lanes: 4,
  batch_items: 128,
  waiting_items: 5_000,
  // A single connection can pipeline thousands of requests.
  group_waiting_items: 4_000,
} as const satisfies GroupCommitLimits;

/** Opens the group commit of leads, with one queue per account. */
export function openLeadIntake(
  app: App,
  metrics: Pick<Metrics, "leadBatchRows" | "leadsCreated" | "leadsWaiting">,
): LeadIntake {
  const write = async (accountId: number, leads: readonly LeadRow[]) => {
    const verdicts = await createLeads(app.db.pool, accountId, leads, app.clock.now());
    metrics.leadsCreated.inc(verdicts.filter(({ verdict }) => verdict === "created").length);
    return verdicts;
  };
  const leads = openGroupCommit<number, LeadRow, LeadVerdict>({
    name: "leads",
    limits,
    write(accountId, batch) {
      metrics.leadBatchRows.observe(batch.length);
      metrics.leadsWaiting.set(leads.waiting());
      return write(accountId, batch);
    },
    writeAlone: async (accountId, lead) => (await write(accountId, [lead]))[0]!,
  });
  return { create: leads.commit };
}

const callCreateLeads = statement<Omit<LeadVerdict, "created_at"> & { ordinal: number }>(
  "select ordinal, verdict, lead_id, contact_id, contact_name, contact_phone from create_leads($1, $2, $3)",
);

/** Calls create_leads once; returns the verdicts in the order of the leads. */
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
