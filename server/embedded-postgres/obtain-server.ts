import { setTimeout as delay } from "node:timers/promises";
import { awaitReady } from "./await-ready.ts";
import { EmbeddedPostgresError, fullDiskError } from "./embedded-postgres-error.ts";
import { launchServer } from "./launch-server.ts";
import type { Binaries } from "./locate-binaries.ts";
import type { ClusterPaths } from "./cluster-paths.ts";
import {
  anyServerOf,
  liveServer,
  orphanedBackends,
  removeForeignPidFile,
} from "./postmaster-pid.ts";
import { signalProcess } from "./processes.ts";

/** A server that accepts connections. */
export type Server = {
  readonly pid: number;
  readonly port: number;
  /** True if it was already running. */
  readonly found: boolean;
};

export type ObtainOptions = {
  readonly max_connections: number;
  /** How long a start may take before it is reported as failed. */
  readonly patience_ms: number;
  readonly log: (line: string) => void;
};

/** Starts that fail for a temporary reason: a port was taken, or another process is starting too. */
const attempts_max = 10;
/** Processes of a killed server usually exit by themselves; those still alive after this are signalled. */
const orphan_grace_ms = 2_000;
const poll_ms = 100;

/**
 * Returns the folder's running server, or a new one. Concurrent starts get the same server, because PostgreSQL
 * allows only one per folder. Throws EmbeddedPostgresError if it does not come up.
 */
export async function obtainServer(
  paths: ClusterPaths,
  binaries: Binaries,
  options: ObtainOptions,
): Promise<Server> {
  for (let attempt = 1; ; attempt++) {
    const live = liveServer(paths);
    if (live !== null) {
      const port = await awaitReady(paths, live.pid, options);
      if (port !== null) return { pid: live.pid, port, found: true };
      continue; // It was stopping; now a new one can start.
    }
    removeForeignPidFile(paths, options.log);
    const launched = await launchServer(paths, binaries, options.max_connections);
    const port = await awaitReady(paths, launched.pid, options);
    if (port !== null) return { pid: launched.pid, port, found: false };
    const output = launched.output();
    if (attempt >= attempts_max || !(await canRetry(paths, output, options))) {
      throw failedStart(paths, output);
    }
  }
}

/** Reports whether a start failed for a temporary reason, once that has passed. */
async function canRetry(
  paths: ClusterPaths,
  output: string,
  options: ObtainOptions,
): Promise<boolean> {
  if (output.includes("pre-existing shared memory block")) {
    await awaitOrphansGone(paths, options);
    return true;
  }
  if (/lock file "postmaster.pid" already exists|could not bind IPv4 address/.test(output)) {
    await delay(poll_ms);
    return true;
  }
  return false;
}

/** Waits for children of a killed server, which hold its memory and may still write until they exit. */
async function awaitOrphansGone(paths: ClusterPaths, options: ObtainOptions): Promise<void> {
  const began_ms = performance.now();
  let is_logged = false;
  for (;;) {
    await delay(poll_ms);
    const pids = orphanedBackends(paths).map(({ pid }) => pid);
    if (pids.length === 0) return;
    if (!is_logged)
      options.log(`waiting for processes of a killed PostgreSQL to exit: pids ${pids.join(", ")}`);
    is_logged = true;
    const waited_ms = performance.now() - began_ms;
    if (waited_ms > options.patience_ms) {
      throw new EmbeddedPostgresError(
        `PostgreSQL cannot start in ${paths.cluster_dir}: processes of its previous server ` +
          `(pids ${pids.join(", ")}) do not exit. End them (kill -9) and start again.`,
      );
    }
    // PostgreSQL's own emergency signal: the children exit without touching anything.
    if (waited_ms > orphan_grace_ms && !anyServerOf(paths)) {
      for (const pid of pids) signalProcess(pid, "SIGQUIT");
    }
  }
}

function failedStart(paths: ClusterPaths, output: string): EmbeddedPostgresError {
  const violations = output
    .split("\n")
    .filter((line) => /FATAL|PANIC|error|could not|invalid/.test(line));
  const said = violations.map((line) => line.replace(/^.*?\] /, "").trim()).join(" ");
  return (
    fullDiskError(paths.data_dir, output) ??
    new EmbeddedPostgresError(
      `PostgreSQL exited while starting in ${paths.cluster_dir}` +
        `${said === "" ? "" : ` (${said})`}. See ${paths.log_file}.`,
    )
  );
}
