// What a lead, a message and a call add to the database, with all that the service records of them.
import { eventually } from "../../test/support/eventually.ts";
import type { Fixture } from "./fixture.ts";
import { requests } from "./timing.ts";
import { createCampaign, newPhone } from "./writes.ts";

/** Bytes of one. */
export type Growth = {
  readonly what: string;
  readonly heap: number;
  readonly indexes: number;
  readonly wal: number;
};

const deadline_s = 900;

/** Measures the growth of heap, indexes and WAL (without full page images) with a worker running. */
export async function measureGrowth(
  fixture: Fixture,
  { made, calls }: { readonly made: number; readonly calls: number },
): Promise<Growth[]> {
  const { db } = fixture;
  await db.query("alter system set full_page_writes = off");
  await db.query("select pg_reload_conf()");
  const worker = await fixture.startWorker();
  const found = [
    await measure(fixture, "a lead", made, () => makeLeads(fixture, made)),
    await measure(fixture, "a message, read", made, () => sendMessages(fixture, made)),
    await measure(fixture, "a click-to-call, answered", calls, () => makeCalls(fixture, calls)),
  ];
  await worker.stop();
  await db.query("alter system reset full_page_writes");
  await db.query("select pg_reload_conf()");
  return found;
}

async function measure(
  { db }: Fixture,
  what: string,
  count: number,
  work: () => Promise<void>,
): Promise<Growth> {
  const read = async () =>
    (await db.query<Record<"heap" | "indexes" | "wal", number>>(sizes)).rows[0]!;
  const before = await read();
  await work();
  const after = await read();
  const of = (key: "heap" | "indexes" | "wal") => (after[key] - before[key]) / count;
  console.log(`${what}: measured`);
  return { what, heap: of("heap"), indexes: of("indexes"), wal: of("wal") };
}

// Not of queues, whose rows are deleted and whose size depends on the last vacuum.
const sizes = `
  select sum(pg_table_size(c.oid))::float8 as heap, sum(pg_indexes_size(c.oid))::float8 as indexes,
    (pg_current_wal_insert_lsn() - '0/0')::float8 as wal
  from pg_class c where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
    and c.relname not in ('chat_inbox', 'jobs', 'leases', 'rate_windows', 'call_commands', 'accounts')`;

async function makeLeads(fixture: Fixture, count: number): Promise<void> {
  const send = requests(fixture, "deep");
  const path = `/crm/workspaces/${fixture.account("deep").workspace_id}/leads/create`;
  const lanes = Array.from({ length: 16 }, async (_, lane) => {
    for (let i = lane; i < count; i += 16) {
      const phone = newPhone();
      await send("POST", path, { phone, name: "Asha Rao", email: `asha${phone}@example.com` });
    }
  });
  await Promise.all(lanes);
}

async function sendMessages(fixture: Fixture, count: number): Promise<void> {
  const id = await createCampaign(fixture, "deep", count, false);
  await eventually(async () => {
    const { rows } = await fixture.db.query<{ waiting: number }>(
      `select count(*)::int as waiting from chat_recipients
       where account_id = $1 and campaign_id = $2 and state <> 'read'`,
      [fixture.account("deep").account_id, id],
    );
    return rows[0]!.waiting === 0;
  }, deadline_s);
}

async function makeCalls(fixture: Fixture, count: number): Promise<void> {
  const send = requests(fixture, "deep");
  for (let i = 0; i < count; i++)
    await send("POST", "/clickToCallApis/clickToCall", {
      from_number: "101",
      to_number: newPhone(),
    });
  await eventually(async () => {
    const { rows } = await fixture.db.query("select from calls where stage <> 'ended' limit 1");
    return rows.length === 0;
  }, deadline_s);
}
