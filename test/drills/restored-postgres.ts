// A PostgreSQL that archives its WAL, for drills that restore it to a moment. From the outside it stays the same server:
// its address does not change.
import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { clusterPathsIn, type ClusterPaths } from "../../server/embedded-postgres/cluster-paths.ts";
import {
  startEmbeddedPostgres,
  type EmbeddedPostgres,
} from "../../server/embedded-postgres/start-embedded-postgres.ts";
import { migrate } from "../../server/lib/database/migrate.ts";
import { eventually } from "../support/eventually.ts";
import { scratchFolder } from "../support/scratch-folder.ts";

export type ArchivedPostgres = {
  readonly url: string;
  /** Copies the running server's files, as pg_basebackup does. */
  backUp(): Promise<void>;
  /** Stops the server, and starts the backup in its place, recovered to this moment by the archived WAL. */
  restoreTo(moment: Date): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
};

const start = (dataDir: string) => startEmbeddedPostgres({ dataDir, log: () => {} });

/** Starts it with a migrated database. */
export async function startArchivedPostgres(): Promise<ArchivedPostgres> {
  const dir = scratchFolder("trunkline-archived-");
  const { cluster_dir, account } = clusterPathsIn(dir);
  const [archive, backup] = [join(dir, "archive"), join(dir, "backup")];
  await (await start(dir)).stop();
  mkdirSync(archive);
  giveTo(account, archive);
  chmodSync(dir, 0o711);
  configure(cluster_dir, [
    "archive_mode = on",
    `archive_command = 'cp %p ${archive}/%f'`,
    `restore_command = 'cp ${archive}/%f %p'`,
  ]);
  let server: EmbeddedPostgres = await start(dir);
  await migrate(server.url);
  return {
    url: server.url,
    async backUp() {
      await onServer(server.url, async (client) => {
        await client.query("select pg_backup_start('drill', fast => true)");
        execFileSync("cp", ["-a", cluster_dir, backup]);
        const { rows } = await client.query<{ labelfile: string }>(
          "select * from pg_backup_stop()",
        );
        writeFileSync(join(backup, "backup_label"), rows[0]!.labelfile);
      });
      // What runs there, and the WAL, which the archive has.
      for (const name of ["postmaster.pid", "pg_wal"])
        await rm(join(backup, name), { recursive: true, force: true });
      mkdirSync(join(backup, "pg_wal"));
    },
    async restoreTo(moment) {
      await onServer(server.url, (client) => client.query("select pg_switch_wal()"));
      await server.stop();
      await rename(cluster_dir, `${cluster_dir}-lost`);
      await rename(backup, cluster_dir);
      configure(cluster_dir, [
        `recovery_target_time = '${moment.toISOString().replace("Z", "+00")}'`,
        "recovery_target_action = 'promote'",
      ]);
      writeFileSync(join(cluster_dir, "recovery.signal"), "");
      giveTo(account, cluster_dir);
      server = await start(dir);
      await onServer(server.url, removeTarget);
    },
    async [Symbol.asyncDispose]() {
      await server.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Waits for the end of the recovery, and removes its target, at which a replica would stop to follow. */
async function removeTarget(client: pg.Client): Promise<void> {
  await eventually(async () => {
    const { rows } = await client.query<{ recovers: boolean }>(
      "select pg_is_in_recovery() as recovers",
    );
    return !rows[0]!.recovers;
  });
  for (const name of ["recovery_target_time", "recovery_target_action", "restore_command"])
    await client.query(`alter system reset ${name}`);
  await client.query("select pg_reload_conf()");
}

/** As root, PostgreSQL runs as another user. */
function giveTo(account: ClusterPaths["account"], path: string): void {
  if (account) execFileSync("chown", ["-R", `${account.uid}:${account.gid}`, path]);
}

function configure(cluster_dir: string, lines: readonly string[]): void {
  appendFileSync(join(cluster_dir, "postgresql.auto.conf"), `${lines.join("\n")}\n`);
}

async function onServer<T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}
