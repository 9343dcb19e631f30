// Runs PgBouncer (scripts/install-test-tools.sh) in front of the test server.
import { spawn } from "node:child_process";
import { chownSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import pg from "pg";
import { reservePorts } from "../../scripts/lib/reserve-ports.ts";
import { eventually } from "./eventually.ts";
import { scratchFolder } from "./scratch-folder.ts";

/** PgBouncer refuses to run as root. */
const unprivileged = 65_534;

export type PgBouncer = { readonly url: string; [Symbol.asyncDispose](): Promise<void> };

/** Starts it for the database at `databaseUrl`; `url` is the database through it. Only the mode is set, all else is default. */
export async function startPgBouncer(
  databaseUrl: string,
  pool_mode: "session" | "transaction",
): Promise<PgBouncer> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const [listen_port] = await reservePorts({ from: 20_000, to: 32_000, count: 1 });
  const dir = scratchFolder("trunkline-pgbouncer-");
  const file = join(dir, "pgbouncer.ini");
  const login = `host=${hostname} port=${port} user=${username} password=${password}`;
  writeFileSync(
    file,
    `[databases]
* = ${login}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listen_port}
unix_socket_dir =
auth_type = any
pool_mode = ${pool_mode}
`,
  );
  const is_root = process.getuid?.() === 0;
  if (is_root) for (const path of [dir, file]) chownSync(path, unprivileged, unprivileged);
  const child = spawn("/usr/sbin/pgbouncer", ["-q", "pgbouncer.ini"], {
    cwd: dir,
    stdio: ["ignore", "ignore", "inherit"],
    ...(is_root && { uid: unprivileged, gid: unprivileged }),
  });
  await once(child, "spawn");
  const end = once(child, "exit");
  const url = `postgres://${username}@127.0.0.1:${listen_port}${pathname}`;
  await eventually(() => isReady(url));
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await end;
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function isReady(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString });
  client.on("error", () => {});
  try {
    await client.connect();
    await client.end();
    return true;
  } catch {
    return false;
  }
}
