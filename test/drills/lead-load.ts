// A load of lead creations by several clients while the service is disrupted, and its invariants.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { Demo } from "../../server/seed-demo/demo-file.ts";
import type { TestAccount } from "../support/account-factory.ts";
import { send } from "../support/api.ts";
import type { ServiceProcess } from "../support/service-process.ts";

export type LeadLoad = {
  /** The number of leads that were answered 201 so far. */
  acknowledged(): number;
  /** The other statuses so far; 0 stands for a broken connection. */
  statuses(): ReadonlySet<number>;
  /** Waits for requests in flight; those with an idempotency key are retried until they succeed. */
  stop(): Promise<void>;
  /** Checks that no acknowledged lead is lost, none with a key is duplicated, and every lead is complete. */
  checkInvariants(databaseUrl: string): Promise<void>;
};

const phones = 40;

type Owner = Pick<TestAccount, "token" | "workspace_id">;

/** Returns the demo account of the service that created it. */
export async function demoOwner({ data_dir }: ServiceProcess): Promise<Owner> {
  const { tokens, workspace_id } = JSON.parse(
    await readFile(`${data_dir}/demo.json`, "utf8"),
  ) as Demo;
  return { token: tokens["account"]!, workspace_id };
}

/** Starts creating leads of the account. Calls `urls` before each request, so that services may be replaced. */
export function startLeadLoad(
  { token, workspace_id }: Owner,
  urls: () => readonly string[],
  { clients = 12, pause_ms = 0 } = {},
): LeadLoad {
  const path = `/api/v1/crm/workspaces/${workspace_id}/leads/create`;
  const acknowledged = new Map<string, number>();
  const keyed = new Set<string>();
  const statuses = new Set<number>();
  const stopping = new AbortController();
  let made = 0;

  const attempt = async (name: string, phone: string, withKey: boolean): Promise<boolean> => {
    const all = urls();
    const url = all[Math.floor(Math.random() * all.length)]!;
    const answer = await send(url, "POST", path, {
      token,
      headers: withKey ? { "idempotency-key": name } : {},
      json: { phone, name },
    }).catch(() => null);
    if (answer?.status === 201) {
      acknowledged.set(name, (answer.body as { id: number }).id);
      return true;
    }
    statuses.add(answer?.status ?? 0);
    await wait(20);
    return false;
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      const name = `lead-${++made}`;
      const phone = `98${String(made % phones).padStart(8, "0")}`;
      const withKey = made % 2 === 0;
      if (withKey) keyed.add(name);
      for (let done = false; !done;) done = (await attempt(name, phone, withKey)) || !withKey;
      if (pause_ms > 0) await wait(pause_ms);
    }
  };
  const running = Array.from({ length: clients }, run);

  return {
    acknowledged: () => acknowledged.size,
    statuses: () => statuses,
    stop: async () => {
      stopping.abort();
      await Promise.all(running);
    },
    checkInvariants: (databaseUrl) => checkInvariants(databaseUrl, acknowledged, keyed),
  };
}

async function checkInvariants(
  url: string,
  acknowledged: ReadonlyMap<string, number>,
  keyed: ReadonlySet<string>,
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const leads = await client.query<{ id: string; name: string }>("select id, name from leads");
  const byName = Map.groupBy(leads.rows, ({ name }) => name);
  for (const [name, id] of acknowledged) {
    assert.ok(
      byName.get(name)?.some((lead) => Number(lead.id) === id),
      `${name} was acknowledged and is lost`,
    );
  }
  for (const name of keyed)
    assert.equal(byName.get(name)?.length, 1, `${name} was created once under its key`);
  const { rows } = await client.query<Record<string, string>>(`
    select (select count(*) from leads) as leads,
      (select count(distinct lead_id) from lead_timeline where kind = 'created') as timelines,
      (select count(*) from lead_timeline where kind = 'created') as entries,
      (select count(*) from events where type = 'lead.created') as events,
      (select count(*) from (select 1 from contacts group by account_id, workspace_id, phone having count(*) > 1) d) as duplicates,
      (select count(*) from idempotency_keys where response = '') as unanswered`);
  await client.end();
  const counts = rows[0]!;
  assert.deepEqual(
    [
      counts["timelines"],
      counts["entries"],
      counts["events"],
      counts["duplicates"],
      counts["unanswered"],
    ],
    [counts["leads"], counts["leads"], counts["leads"], "0", "0"],
  );
}
