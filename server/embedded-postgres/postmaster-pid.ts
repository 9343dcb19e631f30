import { linkSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { serverName, type Place } from "./place.ts";
import { liveProcess, liveProcesses, pidIsTaken, type Process } from "./processes.ts";

/** What a running server says of itself in postmaster.pid. */
export type LiveServer = {
  readonly pid: number;
  /** Null while it has not come that far. */
  readonly port: number | null;
  readonly status: "starting" | "ready" | "stopping";
};

/**
 * The server that runs on this very folder, or null. The id in postmaster.pid is not believed: it
 * may have been given to an unrelated process since.
 */
export function liveServer(place: Place): LiveServer | null {
  const text = readPidFile(place);
  const lines = text?.split("\n") ?? [];
  const pid = pidOf(text);
  if (pid === null || !isServerOf(place, pid)) return null;
  const status = lines[7]?.trim();
  return {
    pid,
    port: Number(lines[3]) || null,
    status: status === "ready" || status === "stopping" ? status : "starting",
  };
}

/** True while this process is the server of this folder. */
export function isServerOf(place: Place, pid: number): boolean {
  const found = liveProcess(pid);
  if (found === null) return false;
  return isNamedFor(place, found) || runsIn(place, found);
}

function isNamedFor(place: Place, { command }: Process): boolean {
  return command.split(" ").includes(`cluster_name=${serverName(place)}`);
}

/** A server that somebody started by hand has no name of ours, but it works in its folder. */
function runsIn(place: Place, { pid, command }: Process): boolean {
  if (!command.includes("postgres")) return false;
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(place.cluster_dir)];
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch {
    return false;
  }
}

/**
 * Removes a postmaster.pid that PostgreSQL itself would stumble over although no server of this
 * folder runs: one that names a living process of another kind, or one that names none (a power
 * cut can leave it empty). The ordinary stale file stays, PostgreSQL learns from it what to wait for.
 */
export function removeForeignPidFile(place: Place, log: (line: string) => void): void {
  const text = readPidFile(place);
  if (text === null) return;
  const pid = pidOf(text);
  const stumbles = pid === null ? !anyServerOf(place) : pidIsTaken(pid) && !isServerOf(place, pid);
  if (!stumbles) return;
  const why = pid === null ? "it names no process" : `process ${pid} is no server of this folder`;
  if (removeIfStill(place, text)) log(`Removed a stale postmaster.pid: ${why}`);
}

/** Renames first and reads again: another start may have put its own file there meanwhile. */
function removeIfStill(place: Place, text: string): boolean {
  const file = pidFile(place);
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
  const same = readFileSync(aside, "utf8") === text;
  if (!same) linkSync(aside, file);
  rmSync(aside);
  return same;
}

/** The children that a killed server left behind: they hold its shared memory until they end. */
export function orphanedBackends(place: Place): Process[] {
  const title = `postgres: ${serverName(place)}: `;
  return liveProcesses().filter(({ command }) => command.startsWith(title));
}

/** True when a server of this folder runs, whatever postmaster.pid says. */
export function anyServerOf(place: Place): boolean {
  return liveProcesses().some((found) => isNamedFor(place, found));
}

function pidOf(text: string | null): number | null {
  const pid = Math.abs(Number(text?.split("\n")[0]));
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}

function pidFile(place: Place): string {
  return join(place.cluster_dir, "postmaster.pid");
}

function readPidFile(place: Place): string | null {
  try {
    return readFileSync(pidFile(place), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
