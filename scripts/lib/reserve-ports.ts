// Reserves ports for processes that start later. Merely looking for free ports is a race between processes.
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";

/**
 * Returns `count` ports of 127.0.0.1 between `from` and below `to`, free for TCP and UDP, that no other caller gets
 * while this process lives: it listens on the port before them.
 */
export async function reservePorts(options: {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}): Promise<readonly number[]> {
  const { from, to, count } = options;
  const block = count + 1;
  for (;;) {
    const first = from + block * Math.floor((Math.random() * (to - from)) / block);
    if (first + count >= to) continue;
    const lock = createServer().listen(first, "127.0.0.1").unref();
    if (!(await succeeds(lock))) continue;
    const ports = Array.from({ length: count }, (_, i) => first + 1 + i);
    const free = await Promise.all(ports.map(isFree));
    if (free.every(Boolean)) return ports;
    lock.close();
  }
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, "127.0.0.1");
  const socket = createSocket("udp4").bind(port, "127.0.0.1");
  const both = await Promise.all([succeeds(server), succeeds(socket)]);
  if (both[0]) server.close();
  socket.close();
  return both.every(Boolean);
}

function succeeds(listening: NodeJS.EventEmitter): Promise<boolean> {
  return once(listening, "listening").then(
    () => true,
    () => false,
  );
}
