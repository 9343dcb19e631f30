import { linkSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { serverName, type ClusterPaths } from "./cluster-paths.ts";
import { liveProcess, liveProcesses, pidIsTaken, type Process } from "./processes.ts";

/** The contents of a running server's postmaster.pid. */
export type LiveServer = {
  readonly pid: number;
  /** Null early in its start. */
  readonly port: number | null;
  readonly status: "starting" | "ready" | "stopping";
};

/**
 * Returns the server that runs on this folder, or null. Verifies the process ID in postmaster.pid, which an
 * unrelated process may have by now.
 */
export function liveServer(paths: ClusterPaths): LiveServer | null {
  const text = readPidFile(paths);
  const lines = text?.split("\n") ?? [];
  const pid = pidOf(text);
  if (pid === null || !isServerOf(paths, pid)) return null;
  const status = lines[7]?.trim();
  return {
    pid,
    port: Number(lines[3]) || null,
    status: status === "ready" || status === "stopping" ? status : "starting",
  };
}

/** Reports whether this process is the folder's server. */
export function isServerOf(paths: ClusterPaths, pid: number): boolean {
  const found = liveProcess(pid);
  if (found === null) return false;
  return isNamedFor(paths, found) || runsIn(paths, found);
}

function isNamedFor(paths: ClusterPaths, { command }: Process): boolean {
  return command.split(" ").includes(`cluster_name=${serverName(paths)}`);
}

/** A server that was started by hand does not have our name, but runs in its folder. */
function runsIn(paths: ClusterPaths, { pid, command }: Process): boolean {
  if (!command.includes("postgres")) return false;
  try {
    const [theirs, ours] = [statSync(`/proc/${pid}/cwd`), statSync(paths.cluster_dir)];
    return theirs.dev === ours.dev && theirs.ino === ours.ino;
  } catch {
    return false;
  }
}

/**
 * Removes a postmaster.pid that would block PostgreSQL although no server of this folder runs: one that names
 * another live process, or none (it may be empty after a power cut). An ordinary stale file stays, because
 * PostgreSQL learns from it what to wait for.
 */
export function removeForeignPidFile(paths: ClusterPaths, log: (line: string) => void): void {
  const text = readPidFile(paths);
  if (text === null) return;
  const pid = pidOf(text);
  const stumbles = pid === null ? !anyServerOf(paths) : pidIsTaken(pid) && !isServerOf(paths, pid);
  if (!stumbles) return;
  const why =
    pid === null ? "it names no process" : `process ${pid} is not the server of this folder`;
  if (removeIfStill(paths, text)) log(`removed a stale postmaster.pid: ${why}`);
}

/** Renames and reads again before removing, because another start may have written its own file. */
function removeIfStill(paths: ClusterPaths, text: string): boolean {
  const file = pidFile(paths);
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

/** Returns the children of a killed server, which hold its shared memory until they exit. */
export function orphanedBackends(paths: ClusterPaths): Process[] {
  const title = `postgres: ${serverName(paths)}: `;
  return liveProcesses().filter(({ command }) => command.startsWith(title));
}

/** Reports whether any server of this folder runs, whatever postmaster.pid says. */
export function anyServerOf(paths: ClusterPaths): boolean {
  return liveProcesses().some((found) => isNamedFor(paths, found));
}

function pidOf(text: string | null): number | null {
  const pid = Math.abs(Number(text?.split("\n")[0]));
  return Number.isInteger(pid) && pid > 0 ? pid : null;
}

function pidFile(paths: ClusterPaths): string {
  return join(paths.cluster_dir, "postmaster.pid");
}

function readPidFile(paths: ClusterPaths): string | null {
  try {
    return readFileSync(pidFile(paths), "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
