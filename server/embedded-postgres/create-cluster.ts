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
import { folder, serverUid, type Place } from "./place.ts";
import { pidIsTaken } from "./processes.ts";

/** The superuser and the database of the program. */
export const database_user = "trunkline";

/**
 * Makes sure that `place` holds a complete cluster of this PostgreSQL version and returns its
 * password. A new one is made under another name and renamed when it is whole and on the disk, so
 * that a killed or failed attempt is never taken for a cluster. Throws EmbeddedPostgresError.
 */
export async function ensureCluster(
  place: Place,
  binaries: Binaries,
  log: (line: string) => void,
): Promise<string> {
  await removeAbandonedDrafts(place);
  if (!isEmpty(place)) return existingPassword(place, binaries);
  const began_ms = performance.now();
  log(`Making a new PostgreSQL ${binaries.major} cluster in ${place.cluster_dir}`);
  const password = newPassword(place);
  const draft = await mkdtemp(join(place.data_dir, draftPrefix()));
  try {
    await runInitdb(place, binaries, draft, password);
    if (!(await putInPlace(draft, place))) return existingPassword(place, binaries);
    log(`The cluster is made (${((performance.now() - began_ms) / 1000).toFixed(1)} s)`);
    return password;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

function isEmpty(place: Place): boolean {
  return folder(place) === null || fs.readdirSync(place.cluster_dir).length === 0;
}

function existingPassword(place: Place, binaries: Binaries): string {
  const version = readText(join(place.cluster_dir, "PG_VERSION"))?.trim();
  if (version === undefined) {
    throw new EmbeddedPostgresError(
      `${place.cluster_dir} is not empty, yet no PostgreSQL cluster. ` +
        `Move it away, or choose another DATA_DIR.`,
    );
  }
  if (version !== binaries.major) {
    throw new EmbeddedPostgresError(
      `${place.cluster_dir} was made by PostgreSQL ${version}; this release brings PostgreSQL ` +
        `${binaries.major}, which cannot read it. Dump the database with the release that made it, ` +
        `move the folder away, start this release and load the dump.`,
    );
  }
  const password = readText(place.password_file);
  if (password === null) {
    throw new EmbeddedPostgresError(
      `${place.password_file} is missing, and with it the way into ${place.cluster_dir}. ` +
        `Restore the file from the backup of the data folder.`,
    );
  }
  return password;
}

/** The password that is there already (left by a start that was cut short) or a new one. */
function newPassword(place: Place): string {
  const draft = `${place.password_file}.${randomBytes(6).toString("hex")}`;
  try {
    const file = fs.openSync(draft, "wx", 0o600);
    fs.writeSync(file, randomBytes(24).toString("base64url"));
    fs.fsyncSync(file);
    fs.closeSync(file);
    // A link does not overwrite: of two first starts both go on with the same password.
    linkUnlessThere(draft, place.password_file);
    return fs.readFileSync(place.password_file, "utf8");
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
 * initdb reads the password from a file and wants an empty folder, so the draft holds both side by
 * side. As root it runs in that folder: by its path it may not be reachable for the server's user.
 */
async function runInitdb(
  place: Place,
  binaries: Binaries,
  draft: string,
  password: string,
): Promise<void> {
  const [cluster, password_file] = [join(draft, "cluster"), join(draft, "password")];
  fs.mkdirSync(cluster, { mode: 0o700 });
  fs.writeFileSync(password_file, password, { mode: 0o600 });
  if (place.account) {
    const { uid, gid } = place.account;
    for (const path of [draft, cluster, password_file]) fs.chownSync(path, uid, gid);
  }
  const [pgdata, pwfile] = place.account
    ? ["/proc/self/cwd", "/proc/self/cwd/../password"]
    : [cluster, password_file];
  const args = [
    `--pgdata=${pgdata}`,
    `--username=${database_user}`,
    `--pwfile=${pwfile}`,
    "--auth=scram-sha-256",
    "--data-checksums",
    "--encoding=UTF8",
    // Text compares by code point, the same on every system, yet upper and lower know all letters.
    "--locale=C",
    "--locale-provider=builtin",
    "--builtin-locale=C.UTF-8",
  ];
  const { code, output } = await run(place, binaries.initdb, args, cluster);
  if (code === 0) return;
  const full = fullDiskError(place.data_dir, output);
  if (full !== null) throw full;
  const advice = output.includes("user does not exist")
    ? ` User ${serverUid(place)} needs a name: give it one in /etc/passwd, ${or_database_url}.`
    : "";
  throw new EmbeddedPostgresError(
    `No PostgreSQL cluster could be made in ${place.data_dir}. ${violations(output)}.${advice}`,
  );
}

async function run(
  place: Place,
  program: string,
  args: readonly string[],
  cwd: string,
): Promise<{ code: number | null; output: string }> {
  const child = spawn(program, args, {
    ...place.account,
    cwd,
    env: { LC_ALL: "C" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  // Until then it may have no streams (EMFILE), and its "error" must have a listener.
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

/** False when another start has put its cluster there first. */
async function putInPlace(draft: string, place: Place): Promise<boolean> {
  try {
    await rename(join(draft, "cluster"), place.cluster_dir);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTEMPTY" || code === "EEXIST") return false;
    throw error;
  }
  const dir = fs.openSync(place.data_dir, "r");
  fs.fsyncSync(dir);
  fs.closeSync(dir);
  return true;
}

/** The process, and when it began: in a container the same id comes back at every start. */
function draftPrefix(): string {
  return `postgres.draft-${process.pid}-${Math.round(performance.timeOrigin)}-`;
}

async function removeAbandonedDrafts(place: Place): Promise<void> {
  const drafts = (await readdir(place.data_dir)).filter((name) =>
    name.startsWith("postgres.draft-"),
  );
  for (const name of drafts) {
    const pid = Number(name.split("-")[1]);
    const in_use = pid === process.pid ? name.startsWith(draftPrefix()) : pidIsTaken(pid);
    // An initdb that outlived its killed parent may still be adding files; the next start gets them.
    if (!in_use) await rm(join(place.data_dir, name), { recursive: true }).catch(() => {});
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
