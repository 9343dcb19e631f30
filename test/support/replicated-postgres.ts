// A primary and a streaming replica of it, for tests that stop either or delay the replica.
import { execFileSync } from "node:child_process";
import { appendFileSync, copyFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { clusterPathsIn } from "../../server/embedded-postgres/cluster-paths.ts";
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { eventually } from "./eventually.ts";
import { scratchFolder } from "./scratch-folder.ts";

export type ReplicatedPostgres = {
  readonly primary_url: string;
  readonly replica_url: string;
  /** Runs a query on a new connection to the replica. */
  onReplica(query: string): Promise<Record<string, unknown>[]>;
  stopReplica(): Promise<void>;
  startReplica(): Promise<void>;
  /** Makes each commit wait until the replica has it, too. */
  makeSynchronous(): Promise<void>;
  /** Promotes the replica, and stops the primary. */
  failOver(): Promise<void>;
  /**
   * Promotes the replica without what `write` commits, as a restore to a moment does, and makes the primary a replica
   * that is left on the lost timeline. Returns the new URLs.
   */
  loseTimeline(
    write: () => Promise<void>,
  ): Promise<Pick<ReplicatedPostgres, "primary_url" | "replica_url">>;
  [Symbol.asyncDispose](): Promise<void>;
};

const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, log: () => {} });

/** Starts both, with a migrated database. The replica begins as a copy of the stopped primary. */
export async function startReplicatedPostgres(): Promise<ReplicatedPostgres> {
  const dirs = [scratchFolder("trunkline-primary-"), scratchFolder("trunkline-replica-")] as const;
  let primary = await start(dirs[0]);
  await migrate(primary.url);
  await primary.stop();
  copyAsReplica(dirs[0], dirs[1], primary.url);
  primary = await start(dirs[0]);
  let replica: EmbeddedPostgres = await start(dirs[1]);
  return {
    primary_url: primary.url,
    replica_url: replica.url,
    onReplica: (query) => runOn(replica.url, query),
    stopReplica: () => replica.stop(),
    async startReplica() {
      replica = await start(dirs[1]);
    },
    async makeSynchronous() {
      await runOn(primary.url, "alter system set synchronous_standby_names = '*'");
      await runOn(primary.url, "select pg_reload_conf()");
      const follows = "select from pg_stat_replication where sync_state = 'sync'";
      await eventually(async () => (await runOn(primary.url, follows)).length === 1);
    },
    async failOver() {
      await runOn(replica.url, "select pg_promote()");
      await primary.stop();
    },
    async loseTimeline(write) {
      await replica.stop();
      await write();
      await primary.stop();
      replica = await start(dirs[1]);
      await runOn(replica.url, "select pg_promote()");
      writeFileSync(join(clusterPathsIn(dirs[0]).cluster_dir, "standby.signal"), "");
      primary = await start(dirs[0]);
      return { primary_url: replica.url, replica_url: primary.url };
    },
    async [Symbol.asyncDispose]() {
      await replica.stop();
      await primary.stop();
      await Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true })));
    },
  };
}

async function runOn(url: string, query: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(query)).rows;
  } finally {
    await client.end();
  }
}

/** Copies a stopped cluster and sets it up to follow the primary at `url`. */
function copyAsReplica(from: string, to: string, url: string): void {
  const [source, target] = [clusterPathsIn(from), clusterPathsIn(to)];
  // With the owner: as root, PostgreSQL runs as another user.
  execFileSync("cp", ["-a", source.cluster_dir, target.cluster_dir]);
  copyFileSync(source.password_file, target.password_file);
  writeFileSync(join(target.cluster_dir, "standby.signal"), "");
  const { hostname, port, username, password } = new URL(url);
  appendFileSync(
    join(target.cluster_dir, "postgresql.auto.conf"),
    `primary_conninfo = 'host=${hostname} port=${port} user=${username} password=${password}'\n`,
  );
}
