import { spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { createServer } from "node:net";
import type { Binaries } from "./locate-binaries.ts";
import type { ClusterPaths } from "./cluster-paths.ts";
import { serverSettings } from "./server-settings.ts";

/** Size at which the log is rotated at a start; one old log is kept. */
const log_size_max_bytes = 10 * 1024 * 1024;

/** A started server process, which may still fail to come up. */
export type Launched = {
  readonly pid: number;
  /** Its output so far. */
  output(): string;
};

/**
 * Starts PostgreSQL in its own session, so that neither Ctrl-C nor the death of this process ends it. As root
 * it runs as the account of `paths`, in the folder, whose path may be closed to that account.
 */
export async function launchServer(
  paths: ClusterPaths,
  binaries: Binaries,
  max_connections: number,
): Promise<Launched> {
  const settings = serverSettings(paths, await freePort(paths), max_connections);
  const pgdata = paths.account ? "/proc/self/cwd" : paths.cluster_dir;
  // Passes the open file, because the account may not be able to open it.
  const log = openLog(paths);
  const from_bytes = fs.fstatSync(log).size;
  try {
    const child = spawn(
      binaries.postgres,
      ["-D", pgdata, ...settings.flatMap((setting) => ["-c", setting])],
      {
        ...paths.account,
        cwd: paths.cluster_dir,
        detached: true,
        env: { LC_ALL: "C" },
        stdio: ["ignore", log, log],
      },
    );
    await once(child, "spawn");
    child.unref();
    return { pid: child.pid!, output: () => readFrom(paths.log_file, from_bytes) };
  } finally {
    fs.closeSync(log);
  }
}

/** Returns the end of the server's log since its latest start. */
export function latestLog(paths: ClusterPaths): string {
  const { size } = fs.statSync(paths.log_file);
  const text = readFrom(paths.log_file, Math.max(0, size - 64 * 1024));
  return text.slice(Math.max(0, text.lastIndexOf("starting PostgreSQL")));
}

function openLog(paths: ClusterPaths): number {
  const size = fs.statSync(paths.log_file, { throwIfNoEntry: false })?.size ?? 0;
  if (size > log_size_max_bytes) fs.renameSync(paths.log_file, `${paths.log_file}.1`);
  return fs.openSync(paths.log_file, "a", 0o600);
}

function readFrom(file: string, position_bytes: number): string {
  const handle = fs.openSync(file, "r");
  try {
    const bytes = Buffer.alloc(Math.max(0, fs.fstatSync(handle).size - position_bytes));
    const read_bytes = fs.readSync(handle, bytes, 0, bytes.length, position_bytes);
    return bytes.toString("utf8", 0, read_bytes);
  } finally {
    fs.closeSync(handle);
  }
}

/** Returns the port of the last start, or another one if that is taken. */
async function freePort(paths: ClusterPaths): Promise<number> {
  const last = fs.existsSync(paths.port_file)
    ? Number(fs.readFileSync(paths.port_file, "utf8"))
    : 0;
  if (last > 0 && (await listenBriefly(last)) === last) return last;
  const port = await listenBriefly(0);
  if (port === null) throw new Error("the system has no free TCP port on 127.0.0.1");
  fs.writeFileSync(paths.port_file, `${port}\n`);
  return port;
}

/** Returns a port that is free (any one for 0), or null if it is taken. */
function listenBriefly(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.on("error", () => resolve(null));
    server.listen({ host: "127.0.0.1", port, exclusive: true }, () => {
      const address = server.address();
      const found = typeof address === "object" && address !== null ? address.port : null;
      server.close(() => resolve(found));
    });
  });
}
