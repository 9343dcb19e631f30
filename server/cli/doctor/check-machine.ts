// Checks of the machine: space on its disks, the port of the API, the synchronization of its clock.
import { execFile } from "node:child_process";
import { once } from "node:events";
import { statfs } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, resolve } from "node:path";
import type { Config } from "../../config.ts";

/** What a program of the operator's machine is given to answer. */
const patience_ms = 3_000;

const gigabyte = 2 ** 30;
/** The API spools up to 2 GB of JSON bodies and 2 GB of uploads. */
const temporary_bytes_min = 4 * gigabyte;
/** PostgreSQL stops when it cannot write its WAL: twice its max_wal_size here. */
const data_bytes_min = gigabyte;

/** Checks the free space of the data folder and, for an API process, of the temporary folder; throws an Error that says what to do. */
export async function checkDisks(
  { data_dir, roles }: Config,
  freeAt: (path: string) => Promise<number> = freeBytes,
): Promise<string> {
  const free = await freeAt(data_dir);
  if (free < data_bytes_min)
    throw new Error(`${data_dir} has ${inGigabytes(free)} free; free some`);
  const found = `${data_dir} has ${inGigabytes(free)} free`;
  if (!roles.includes("api")) return found;
  const temporary = await freeAt(tmpdir());
  if (temporary < temporary_bytes_min)
    throw new Error(
      `${tmpdir()} has ${inGigabytes(temporary)} free, and large request bodies need ` +
        `${inGigabytes(temporary_bytes_min)}; set TMPDIR to a folder with more`,
    );
  return `${found}, ${tmpdir()} ${inGigabytes(temporary)}`;
}

/** Returns the free space at a path, which need not exist yet. */
async function freeBytes(path: string): Promise<number> {
  for (let at = resolve(path); ; at = dirname(at)) {
    const found = await statfs(at).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT" || at === dirname(at)) throw error;
    });
    if (found) return found.bavail * found.bsize;
  }
}

const inGigabytes = (bytes: number) => `${(bytes / gigabyte).toFixed(1)} GB`;

/** Checks that the API can listen at its address, or that the service does; throws an Error that says what to do. */
export async function checkPort({ host, port, roles }: Config): Promise<string> {
  if (!roles.includes("api")) return "a process without the role api listens on none";
  const problem = await listenOnce(host, port);
  if (problem === null) return `${host}:${port} is free`;
  if (problem !== "EADDRINUSE")
    throw new Error(`cannot listen on ${host}:${port} (${problem}); change HOST or PORT`);
  if (await isService(host, port)) return `the service listens on ${host}:${port}`;
  throw new Error(`another program listens on ${host}:${port}; stop it, or change PORT`);
}

/** Returns null if the address is free, and else the code of the error. */
async function listenOnce(host: string, port: number): Promise<string | null> {
  const server = createServer();
  try {
    server.listen({ host, port });
    await once(server, "listening");
    return null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? String(error);
  } finally {
    server.close();
  }
}

async function isService(host: string, port: number): Promise<boolean> {
  // A server on every address also listens on this one.
  const name = host.includes(":") ? `[${host}]` : host;
  try {
    const signal = AbortSignal.timeout(patience_ms);
    const answer = await fetch(`http://${name}:${port}/health/live`, { signal });
    const body = (await answer.json()) as { status?: unknown };
    return body.status === "ok";
  } catch {
    return false;
  }
}

/** Checks that the system synchronizes its clock, as far as it says; throws an Error that says what to do. */
export async function checkSynchronization(
  ask: () => Promise<string | null> = askTimedatectl,
): Promise<string> {
  const answer = await ask();
  if (answer === "no")
    throw new Error("the clock is not synchronized; enable NTP (timedatectl set-ntp true)");
  if (answer === "yes") return "the clock is synchronized";
  return "whether the clock is synchronized cannot be read here";
}

/** Returns yes or no; null without systemd. */
function askTimedatectl(): Promise<string | null> {
  const { promise, resolve: answer } = Promise.withResolvers<string | null>();
  execFile(
    "timedatectl",
    ["show", "--property=NTPSynchronized", "--value"],
    { timeout: patience_ms },
    (error, stdout) => answer(error ? null : stdout.trim()),
  );
  return promise;
}
