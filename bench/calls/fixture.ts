// An account whose agent has an extension, and a node with a trunk to the carrier.
import type { App } from "../../server/engine/app.ts";
import {
  makeCallingAccount,
  makeExtension,
  makeNode,
  makeTrunk,
  setCalling,
} from "../../test/support/telephony-factory.ts";
import { checkCalls, checkLedger } from "../../test/support/check-invariants.ts";
import { makeToken } from "../../test/support/account-factory.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";
import { until } from "../lib/until.ts";

/** The agent of every call, and the endpoint of the phone there. */
export const agent = { extension: "101", endpoint: "agent1" } as const;
/** The trunk's endpoint, and the number that customers see. */
export const trunk = { endpoint: "trunk", caller_id: "918044440000" } as const;

const credits = 100_000_000;

/** The `i`th customer: nobody is called twice at once. */
export function customerOf(i: number): string {
  return String(9_000_000_000 + i);
}

export type Fixture = {
  readonly token: string;
  /** Whether the account's calls are recorded from now on. */
  record(wanted: boolean): Promise<void>;
  /** Lets the node be led, with so many calls at once. */
  open(calls_max: number): Promise<void>;
  /** Resolves when its leader is connected to the switch. */
  connected(): Promise<void>;
  /** Resolves when nobody leads the node any more. */
  shut(): Promise<void>;
  /** Calls that are not over. */
  underWay(): Promise<number>;
  /** Throws unless so many calls of the account are completed, and all that are over. */
  checkCompleted(count: number): Promise<void>;
  /** The call of each campaign. */
  callsOf(campaigns: readonly number[]): Promise<ReadonlyMap<number, number>>;
  checkpoint(): Promise<void>;
  /** Throws unless every call ended once, with one outcome, and the ledger agrees. */
  checkInvariants(): Promise<void>;
  close(): Promise<void>;
};

/** `ari`: the columns of the node by which its switch is reached. */
export async function openFixture(
  database_url: string,
  ari: {
    readonly ari_url: string;
    readonly ari_user: string;
    readonly ari_password: string;
    readonly ari_app: string;
    readonly cdr_path?: string;
  },
): Promise<Fixture> {
  const app = openBenchApp(database_url);
  const account = await makeCallingAccount(app, { credits });
  await makeExtension(app, account, agent.extension, { endpoint: agent.endpoint });
  const node_id = await makeNode(app, { driver: "asterisk", ...ari });
  await makeTrunk(app, [node_id], { endpoint: trunk.endpoint, caller_ids: [trunk.caller_id] });
  const token = await makeToken(app, account);
  return {
    token,
    record: (wanted) => setCalling(app, account, { calls_recorded: wanted }),
    ...openNode(app, node_id),
    ...openAccountChecks(app, account.account_id),
    close: app.close,
  };
}

async function readOne<Row extends object>(
  { db }: Pick<App, "db">,
  sql: string,
  values: unknown[] = [],
): Promise<Row> {
  const { rows } = await db.pool.query<Row>(sql, values);
  return rows[0]!;
}

type NodeControl = "open" | "connected" | "shut" | "underWay";

/** Activates the node, deactivates it and counts its calls. */
export function openNode(app: App, node_id: number): Pick<Fixture, NodeControl> {
  const { pool } = app.db;
  const set = "update voice_nodes set updated_at = now()";
  return {
    async open(calls_max) {
      await pool.query(`${set}, active = true, calls_max = $2 where id = $1`, [node_id, calls_max]);
    },
    async connected() {
      const sql = "select connected_at is not null as yes from voice_nodes where id = $1";
      const isConnected = async () => (await readOne<{ yes: boolean }>(app, sql, [node_id])).yes;
      await until("the node's leader is connected", isConnected);
    },
    async shut() {
      await pool.query(`${set}, active = false where id = $1`, [node_id]);
      const sql = "select count(holder)::int as held from leases where name = $1";
      const held = () => readOne<{ held: number }>(app, sql, [`voice_node:${node_id}`]);
      await until("nobody leads the node", async () => (await held()).held === 0);
    },
    async underWay() {
      // By the indexes that hold these alone.
      const sql = `
        select (select count(*) from calls where node_id = $1 and stage = 'queued')::int
          + (select count(*) from calls
              where node_id = $1 and stage not in ('queued', 'ended'))::int as live`;
      return (await readOne<{ live: number }>(app, sql, [node_id])).live;
    },
  };
}

type AccountCheck = "checkCompleted" | "callsOf" | "checkpoint" | "checkInvariants";

/** Reads the calls of the account and checks them. */
export function openAccountChecks(app: App, account_id: number): Pick<Fixture, AccountCheck> {
  const { pool } = app.db;
  return {
    async checkCompleted(count) {
      const { completed, other } = await readOne<{ completed: number; other: string[] | null }>(
        app,
        `select (count(*) filter (where status = 'completed'))::int as completed,
           array_agg(distinct ended_reason) filter (where status <> 'completed') as other
         from calls where account_id = $1`,
        [account_id],
      );
      if (completed !== count || other !== null)
        throw new Error(`${completed} calls of ${count} are completed; others: ${String(other)}`);
    },
    async callsOf(campaigns) {
      const { rows } = await pool.query<{ campaign_id: number; id: number }>(
        `select campaign_id::int, id::int from calls
         where account_id = $1 and campaign_id = any ($2)`,
        [account_id, campaigns],
      );
      return new Map(rows.map(({ campaign_id, id }) => [campaign_id, id]));
    },
    checkpoint: async () => void (await pool.query("checkpoint")),
    async checkInvariants() {
      // The service never looks for the event of a call; the check does, for thousands of calls.
      await pool.query(
        `create index on events (account_id, ((data ->> 'call_id')::bigint))
         where type = 'call.completed'`,
      );
      await pool.query("analyze");
      await checkCalls(pool);
      await checkLedger(pool);
    },
  };
}
