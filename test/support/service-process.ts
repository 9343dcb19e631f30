// Runs the service as a separate process, which tests stop and kill.
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { reservePorts } from "../../scripts/lib/reserve-ports.ts";
import { send, type Answer, type RequestOptions } from "./api.ts";
import { eventually } from "./eventually.ts";
import { scratchFolder } from "./scratch-folder.ts";
import { test_secret_key } from "./secrets.ts";
import { serviceProgram } from "./service-program.ts";

export type ServiceProcess = {
  readonly url: string;
  readonly pid: number;
  readonly data_dir: string;
  /** Returns its output so far. */
  output(): string;
  send(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  kill(signal: NodeJS.Signals): void;
  /** Waits for its end; returns the exit code or the signal. */
  ended(): Promise<number | NodeJS.Signals>;
  /** Ends it if it is still running and removes its data folder. */
  dispose(): Promise<void>;
};

const this_version = join(import.meta.dirname, "../..");

/**
 * Starts the service with these settings on a free port; resolves when it is ready. `version` is the folder of another
 * version.
 */
export async function startService(
  env: Record<string, string>,
  version = this_version,
): Promise<ServiceProcess> {
  const service = await spawnService(env, version);
  await eventually(async () => {
    if (service.child.exitCode !== null)
      throw new Error(`it ended at the start:\n${service.output()}`);
    return (await service.send("GET", "/health/ready").catch(() => null))?.status === 200;
  }).catch((cause: unknown) => {
    throw new Error(`it is not ready:\n${service.output()}`, { cause });
  });
  return service;
}

/** Starts it without waiting, for starts that are expected to fail. */
export async function spawnService(
  env: Record<string, string>,
  version = this_version,
): Promise<ServiceProcess & { child: ChildProcess }> {
  const port = await nextPort();
  const ownDir = env["DATA_DIR"] === undefined;
  const data_dir = env["DATA_DIR"] ?? scratchFolder("trunkline-service-");
  const child = spawn(process.execPath, [serviceProgram(version)], {
    env: {
      PATH: process.env["PATH"],
      // Drills start many processes, which share compiled code.
      NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"],
      LOG_LEVEL: "warn",
      PORT: String(port),
      DATA_DIR: data_dir,
      // Also with DATABASE_URL, where no demo is created by default.
      TRUNKLINE_SEED: "demo",
      ...(env["DATABASE_URL"] === undefined ? {} : { TRUNKLINE_SECRET_KEY: test_secret_key }),
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  const end = once(child, "exit") as Promise<[number | null, NodeJS.Signals | null]>;
  const url = `http://127.0.0.1:${port}`;
  return {
    child,
    url,
    pid: child.pid!,
    data_dir,
    output: () => output,
    send: (method, path, options) => send(url, method, path, options),
    kill: (signal) => void child.kill(signal),
    ended: async () => {
      const [code, signal] = await end;
      return code ?? signal!;
    },
    async dispose() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGCONT");
        child.kill("SIGTERM");
      }
      await end;
      if (ownDir) await rm(data_dir, { recursive: true, force: true });
    },
  };
}

let ports: readonly number[] = [];

/** Returns a free port below the range that the system assigns to outgoing connections. */
async function nextPort(): Promise<number> {
  if (ports.length === 0) ports = await reservePorts({ from: 20_000, to: 32_000, count: 39 });
  const [port, ...rest] = ports;
  ports = rest;
  return port!;
}
