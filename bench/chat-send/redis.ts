// Runs Debian's Redis on a free port with its own folder: flushed to disk every second, no snapshots.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir } from "node:fs/promises";
import { connect } from "node:net";
import { eventually } from "../../test/support/eventually.ts";
import { freePort } from "../../test/support/free-port.ts";
import { locateTool } from "../lib/run-tool.ts";

export type Redis = { readonly pid: number; readonly port: number; stop(): Promise<void> };

export async function startRedis(dir: string): Promise<Redis> {
  await mkdir(dir, { recursive: true });
  const port = await freePort();
  const settings = {
    bind: "127.0.0.1",
    port: String(port),
    dir,
    daemonize: "no",
    save: "",
    appendonly: "yes",
    appendfsync: "everysec",
    "maxmemory-policy": "noeviction",
  };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]);
  const child = spawn(locateTool("redis-server"), args, { stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  await eventually(async () => {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await once(socket, "connect").then(
      () => true,
      () => false,
    );
    socket.destroy();
    return isOpen;
  });
  return {
    pid: child.pid!,
    port,
    async stop() {
      child.kill();
      await ended;
    },
  };
}
