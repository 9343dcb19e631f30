import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import * as fs from "node:fs";
import { mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  EmbeddedPostgresError,
  fullDiskError,
  or_database_url,
} from "./embedded-postgres-error.ts";
import type { Binaries } from "./locate-binaries.ts";
import { folder, serverUid, type ClusterPaths } from "./cluster-paths.ts";
import { pidIsTaken } from "./processes.ts";

/** The superuser and the database of Trunkline. */
export const database_user = "trunkline";

/**
 * Ensures that the folder of `paths` has a complete cluster of this PostgreSQL version and returns its password. A new
 * cluster is created under another name and renamed once it is complete and synced, so a killed or failed
 * attempt is never mistaken for a cluster. Throws EmbeddedPostgresError.
 */
export async function ensureCluster(
  paths: ClusterPaths,
  binaries: Binaries,
  log: (line: string) => void,
): Promise<string> {
  await removeAbandonedDrafts(paths);
  if (!isEmpty(paths)) return existingPassword(paths, binaries);
  const began_ms = performance.now();
  log(`creating a PostgreSQL ${binaries.major} cluster in ${paths.cluster_dir}`);
  const password = newPassword(paths);
  const draft = await mkdtemp(join(paths.data_dir, draftPrefix()));
  try {
    await runInitdb(paths, binaries, draft, password);
    if (!(await putInPlace(draft, paths))) return existingPassword(paths, binaries);
    log(`created the cluster (${((performance.now() - began_ms) / 1000).toFixed(1)} s)`);
    return password;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function isEmpty(paths: ClusterPaths): boolean {
  return folder(paths) === null || fs.readdirSync(paths.cluster_dir).length === 0;
}

function existingPassword(paths: ClusterPaths, binaries: Binaries): string {
  const version = readText(join(paths.cluster_dir, "PG_VERSION"))?.trim();
  if (version === undefined) {
    throw new EmbeddedPostgresError(
      `${paths.cluster_dir} is not empty but does not contain a PostgreSQL cluster. ` +
        `Move it away, or use another DATA_DIR.`,
    );
  }
  if (version !== binaries.major) {
    throw new EmbeddedPostgresError(
      `${paths.cluster_dir} was created by PostgreSQL ${version}; this release contains PostgreSQL ` +
        `${binaries.major}, which cannot read it. Dump the database with the release that created it, ` +
        `move the folder away, start this release and load the dump.`,
    );
  }
  const password = readText(paths.password_file);
  if (password === null) {
    throw new EmbeddedPostgresError(
      `${paths.password_file} is missing, so ${paths.cluster_dir} cannot be opened. ` +
        `Restore the file from the backup of the data folder.`,
    );
  }
  return password;
}

/** Returns the existing password (from an interrupted start), or a new one. */
function newPassword(paths: ClusterPaths): string {
  const draft = `${paths.password_file}.${randomBytes(6).toString("hex")}`;
  try {
    const file = fs.openSync(draft, "wx", 0o600);
    fs.writeSync(file, randomBytes(24).toString("base64url"));
    fs.fsyncSync(file);
    fs.closeSync(file);
    // A link does not overwrite: two concurrent first starts use the same password.
    linkUnlessThere(draft, paths.password_file);
    return fs.readFileSync(paths.password_file, "utf8");
  } finally {
    fs.rmSync(draft, { force: true });
  }
}

function linkUnlessThere(from: string, to: string): void {
  try {
    fs.linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/**
 * Runs initdb, which reads the password from a file and needs an empty folder, so the draft holds both. As
 * root it runs in that folder, because its path may be closed to the server's user.
 */
async function runInitdb(
  paths: ClusterPaths,
  binaries: Binaries,
  draft: string,
  password: string,
): Promise<void> {
  const [cluster, password_file] = [join(draft, "cluster"), join(draft, "password")];
  fs.mkdirSync(cluster, { mode: 0o700 });
  fs.writeFileSync(password_file, password, { mode: 0o600 });
  if (paths.account) {
    const { uid, gid } = paths.account;
    for (const path of [draft, cluster, password_file]) fs.chownSync(path, uid, gid);
  }
  const [pgdata, pwfile] = paths.account
    ? ["/proc/self/cwd", "/proc/self/cwd/../password"]
    : [cluster, password_file];
  const args = [
    `--pgdata=${pgdata}`,
    `--username=${database_user}`,
    `--pwfile=${pwfile}`,
    "--auth=scram-sha-256",
    "--data-checksums",
    "--encoding=UTF8",
    // Text is ordered by code point, the same on every system, while upper and lower handle all letters.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
  ];
  const { code, output } = await run(paths, binaries.initdb, args, cluster);
  if (code === 0) return;
  const full = fullDiskError(paths.data_dir, output);
  if (full !== null) throw full;
  const advice = output.includes("user does not exist")
    ? ` User ${serverUid(paths)} needs a name: give it one in /etc/passwd, ${or_database_url}.`
    : "";
  throw new EmbeddedPostgresError(
    `Cannot create a PostgreSQL cluster in ${paths.data_dir}. ${violations(output)}.${advice}`,
  );
}

async function run(
  paths: ClusterPaths,
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(program, args, {
    ...paths.account,
    cwd,
    env: { LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // A failed spawn (EMFILE) may have no streams, and its "error" needs a listener.
  await once(child, "spawn");
  let output = "";
  child.stdout.on("data", (part: Buffer) => (output += part.toString()));
  child.stderr.on("data", (part: Buffer) => (output += part.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, output };
}

function violations(output: string): string {
  const lines = output.split("\n").filter((line) => /error|FATAL|PANIC|could not/i.test(line));
  return (lines.length > 0 ? lines : output.split("\n")).join(" ").trim();
}

/** Renames the draft; false if another start was faster. */
async function putInPlace(draft: string, paths: ClusterPaths): Promise<boolean> {
  try {
    await rename(join(draft, "cluster"), paths.cluster_dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    throw error;
  }
  const dir = fs.openSync(paths.data_dir, "r");
  fs.fsyncSync(dir);
  fs.closeSync(dir);
  return true;
}

/** Contains the process and its start time, because containers reuse process IDs. */
function draftPrefix(): string {
  return `postgres.draft-${process.pid}-${Math.round(performance.timeOrigin)}-`;
}

async function removeAbandonedDrafts(paths: ClusterPaths): Promise<void> {
  const drafts = (await readdir(paths.data_dir)).filter((name) =>
    name.startsWith("postgres.draft-"),
  );
  for (const name of drafts) {
    const pid = Number(name.split("-")[1]);
    const in_use = pid === process.pid ? name.startsWith(draftPrefix()) : pidIsTaken(pid);
    // An initdb that outlived its killed parent may still add files; the next start removes them.
    if (!in_use) await rm(join(paths.data_dir, name), { recursive: true }).catch(() => {});
  }
}

function readText(file: string): string | null {
  try {
    return fs.readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
