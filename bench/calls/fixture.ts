// Creates an account with an agent's extension, and a node with a trunk to the carrier.
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

/** The agent of every call: extension and SIP endpoint. */
export const agent = { extension: "101", endpoint: "agent1" } as const;
/** The trunk's SIP endpoint and caller ID. */
export const trunk = { endpoint: "trunk", caller_id: "918044440000" } as const;

const credits = 100_000_000;

/** Returns the number of the `i`th customer. */
export function customerOf(i: number): string {
  return String(9_000_000_000 + i);
}

export type Fixture = {
  readonly token: string;
  /** Switches the recording of the account's calls on or off. */
  record(wanted: boolean): Promise<void>;
  /** Activates the node with this maximum of concurrent calls. */
  activate(calls_max: number): Promise<void>;
  /** Waits until the node's leader is connected to the switch. */
  awaitConnected(): Promise<void>;
  /** Deactivates the node; waits until it has no leader. */
  deactivate(): Promise<void>;
  /** Counts the calls that have not ended. */
  countLive(): Promise<number>;
  /** Throws unless exactly `count` calls of the account are completed and none ended otherwise. */
  checkCompleted(count: number): Promise<void>;
  /** Returns the call of each campaign. */
  callsOf(campaigns: readonly number[]): Promise<ReadonlyMap<number, number>>;
  checkpoint(): Promise<void>;
  /** Throws unless every call ended once, with one outcome, and the ledger matches. */
  checkInvariants(): Promise<void>;
  close(): Promise<void>;
};

/** `ari`: the node's columns for the connection to its switch. */
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

type NodeControl = "activate" | "awaitConnected" | "deactivate" | "countLive";

/** Activates and deactivates the node and counts its calls. */
export function openNode(app: App, node_id: number): Pick<Fixture, NodeControl> {
  const { pool } = app.db;
  const set = "update voice_nodes set updated_at = now()";
  return {
    async activate(calls_max) {
      await pool.query(`${set}, active = true, calls_max = $2 where id = $1`, [node_id, calls_max]);
    },
    async awaitConnected() {
      const sql = "select connected_at is not null as yes from voice_nodes where id = $1";
      const isConnected = async () => (await readOne<{ yes: boolean }>(app, sql, [node_id])).yes;
      await until("the node's leader is connected", isConnected);
    },
    async deactivate() {
      await pool.query(`${set}, active = false where id = $1`, [node_id]);
      const sql = "select count(holder)::int as held from leases where name = $1";
      const held = () => readOne<{ held: number }>(app, sql, [`voice_node:${node_id}`]);
      await until("the node has no leader", async () => (await held()).held === 0);
    },
    async countLive() {
      // Two counts, so that the partial indexes are used.
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
      // Only the check looks up events by call, for thousands of calls.
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
