// A primary and a streaming replica of it, for tests that stop either or delay the replica.
import { execFileSync } from "node:child_process";
import { appendFileSync, copyFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { placeIn } from "../../server/embedded-postgres/place.ts";
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { scratchFolder } from "./scratch-folder.ts";

export type ReplicatedPostgres = {
  readonly primary_url: string;
  readonly replica_url: string;
  /** Runs a query on a new connection to the replica. */
  onReplica(query: string): Promise<Record<string, unknown>[]>;
  stopReplica(): Promise<void>;
  startReplica(): Promise<void>;
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
    async onReplica(query) {
      const client = new pg.Client({ connectionString: replica.url });
      await client.connect();
      try {
        return (await client.query<Record<string, unknown>>(query)).rows;
      } finally {
        await client.end();
      }
    },
    stopReplica: () => replica.stop(),
    async startReplica() {
      replica = await start(dirs[1]);
    },
    async [Symbol.asyncDispose]() {
      await replica.stop();
      await primary.stop();
      await Promise.all(dirs.map((dir) => rm(dir, { recursive: true, force: true })));
    },
  };
}

/** Copies a stopped cluster and sets it up to follow the primary at `url`. */
function copyAsReplica(from: string, to: string, url: string): void {
  const [source, target] = [placeIn(from), placeIn(to)];
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
