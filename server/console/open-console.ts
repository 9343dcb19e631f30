// Finds or builds the console's files beside the running service.
import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, readdir, rm } from "node:fs/promises";
import { setPriority } from "node:os";
import { join } from "node:path";
import type { Log } from "../lib/log.ts";
import { install_dir } from "../lib/installation/install-dir.ts";
import { hashConsoleSources, isBuildOf } from "../lib/installation/builds.ts";

/** What `/` can show: a finished build, or why there is none. */
export type ConsoleState =
  | { readonly status: "building" }
  | { readonly status: "ready"; readonly dir: string }
  | { readonly status: "failed"; readonly reason: string };

export type Console = {
  state(): ConsoleState;
  /** Ends a build in progress. */
  close(): Promise<void>;
};

const build_ms_max = 300_000;
const built_ahead = join(install_dir, "console", "dist");

/**
 * Serves the build made ahead by `npm run console:build` in `ahead`, or else the one in the data folder, if its sources are those
 * of this installation; otherwise builds it in a child process of low priority. Never throws and never delays the API.
 */
export function openConsole(data_dir: string, log: Log, ahead = built_ahead): Console {
  let state: ConsoleState = { status: "building" };
  const aborted = new AbortController();
  const finished = findOrBuild(ahead, join(data_dir, "console"), log, aborted.signal)
    .then((dir): ConsoleState => ({ status: "ready", dir }))
    .catch((err: unknown): ConsoleState => {
      if (!aborted.signal.aborted)
        log.error({ err }, "the console could not be built; the API is not affected");
      return { status: "failed", reason: (err as Error).message };
    })
    .then((result) => (state = result));
  return {
    state: () => state,
    async close() {
      aborted.abort();
      await finished;
    },
  };
}

async function findOrBuild(
  ahead: string,
  builds: string,
  log: Log,
  signal: AbortSignal,
): Promise<string> {
  const hash = hashConsoleSources();
  if (await isBuildOf(hash, ahead)) return ahead;
  const dir = join(builds, hash.slice(0, 16));
  if (await isBuildOf(hash, dir)) return dir;
  await mkdir(builds, { recursive: true });
  const began_ms = performance.now();
  await build(dir, signal);
  log.info({ ms: Math.round(performance.now() - began_ms) }, "the console is built");
  await removeOthers(builds, dir);
  return dir;
}

/** Runs the build; rejects with its last lines of output. */
async function build(dir: string, signal: AbortSignal): Promise<void> {
  const script = join(install_dir, "console", "build.ts");
  const child = spawn(process.execPath, [script, dir], {
    cwd: join(install_dir, "console"),
    stdio: ["ignore", "pipe", "pipe"],
    signal,
    timeout: build_ms_max,
  });
  lowerPriority(child);
  let output = "";
  const append = (chunk: Buffer) => {
    output = `${output}${chunk.toString()}`.slice(-2_000);
  };
  child.stdout.on("data", append);
  child.stderr.on("data", append);
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  child.on("error", reject);
  child.on("close", (code) => {
    if (code === 0) resolve(undefined);
    else reject(new Error(`the build of the console ended with ${code}: ${output.trim()}`));
  });
  await promise;
}

function lowerPriority({ pid }: ChildProcess): void {
  try {
    if (pid !== undefined) setPriority(pid, 10);
  } catch {
    // It has ended already, or the system has no priorities.
  }
}

async function removeOthers(builds: string, kept: string): Promise<void> {
  for (const name of await readdir(builds)) {
    const dir = join(builds, name);
    // Another process of the same folder may still serve an older build from memory, never from here.
    if (dir !== kept) await rm(dir, { recursive: true, force: true });
  }
}
