import { setTimeout as delay } from "node:timers/promises";
import { EmbeddedPostgresError } from "./embedded-postgres-error.ts";
import { latestLog } from "./launch-server.ts";
import type { ClusterPaths } from "./cluster-paths.ts";
import { isServerOf, liveServer, type LiveServer } from "./postmaster-pid.ts";

const poll_ms = 5;
/** Delay before the first progress line, and between later ones. */
const report_after_ms = 1_000;
const report_every_ms = 5_000;

/**
 * Waits until the server `pid` accepts connections and returns its port, or null if it exits. Crash recovery
 * may take long, and progress is logged. After `patience_ms` the server is left running and an
 * EmbeddedPostgresError is thrown.
 */
export async function awaitReady(
  paths: ClusterPaths,
  pid: number,
  { patience_ms, log }: { readonly patience_ms: number; readonly log: (line: string) => void },
): Promise<number | null> {
  const began_ms = performance.now();
  let report_at_ms = report_after_ms;
  for (;;) {
    const live = liveServer(paths);
    if (live?.pid === pid && live.status === "ready" && live.port !== null) return live.port;
    if (!isServerOf(paths, pid)) return null;
    const waited_ms = performance.now() - began_ms;
    if (waited_ms > patience_ms) throw notReady(paths, pid, live, patience_ms);
    if (waited_ms >= report_at_ms) {
      report_at_ms += report_every_ms;
      log(`PostgreSQL is ${activity(paths, live)} (${Math.round(waited_ms / 1000)} s so far)`);
    }
    await delay(poll_ms);
  }
}

/** Waits until the server `pid` has exited. */
export async function awaitGone(paths: ClusterPaths, pid: number): Promise<void> {
  while (isServerOf(paths, pid)) await delay(poll_ms);
}

function notReady(
  paths: ClusterPaths,
  pid: number,
  live: LiveServer | null,
  patience_ms: number,
): EmbeddedPostgresError {
  return new EmbeddedPostgresError(
    `PostgreSQL (pid ${pid}) in ${paths.cluster_dir} did not become ready within ` +
      `${Math.round(patience_ms / 1000)} s: it is still ${activity(paths, live)}. It was left ` +
      `running: start again later, and see ${paths.log_file}.`,
  );
}

function activity(paths: ClusterPaths, live: LiveServer | null): string {
  if (live?.status === "stopping") return "stopping";
  return latestLog(paths).includes("automatic recovery in progress")
    ? "recovering from a crash"
    : "starting";
}
