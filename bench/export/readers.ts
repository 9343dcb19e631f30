// Reads an export, fast or slowly, and measures the memory of the server's process.
import { request, type IncomingMessage } from "node:http";
import { once } from "node:events";
import { setTimeout as wait } from "node:timers/promises";
import { pssOfTree_mb } from "../lib/memory.ts";

export type Export = { readonly url: string; readonly token: string; readonly pid: number };

export type Whole = {
  readonly seconds: number;
  readonly rows: number;
  readonly megabytes: number;
  /** The maximum memory in the first and in the second half of the time. */
  readonly early_mb: number;
  readonly late_mb: number;
};

export type Slow = {
  readonly highest_mb: number;
  /** The maximum of open transactions without a running statement. */
  readonly transactions: number;
  readonly megabytes: number;
};

/** Reads an export as fast as possible. */
export async function readExport(of: Export): Promise<Whole> {
  const samples = [pssOfTree_mb(of.pid)];
  const watch = setInterval(() => samples.push(pssOfTree_mb(of.pid)), 100);
  const began = performance.now();
  let lines = 0;
  let bytes = 0;
  try {
    for await (const chunk of await open(of)) {
      const piece = chunk as Buffer;
      bytes += piece.length;
      lines += linesOf(piece);
    }
  } finally {
    clearInterval(watch);
  }
  samples.push(pssOfTree_mb(of.pid));
  const half = Math.floor(samples.length / 2);
  return {
    seconds: (performance.now() - began) / 1_000,
    rows: lines - 1,
    megabytes: bytes / 1_048_576,
    early_mb: Math.max(...samples.slice(0, half)),
    late_mb: Math.max(...samples.slice(half)),
  };
}

/** Reads one megabyte per second for `seconds`, then disconnects. */
export async function readSlowly(
  of: Export,
  seconds: number,
  openTransactions: () => Promise<number>,
): Promise<Slow> {
  const answer = await open(of);
  let [bytes, highest_mb, transactions] = [0, 0, 0];
  const began = performance.now();
  for (;;) {
    const passed = (performance.now() - began) / 1_000;
    if (passed > seconds) break;
    while (bytes < passed * 1_048_576) {
      const piece = answer.read() as Buffer | null;
      if (piece === null) break;
      bytes += piece.length;
    }
    highest_mb = Math.max(highest_mb, pssOfTree_mb(of.pid));
    transactions = Math.max(transactions, await openTransactions());
    await wait(50);
  }
  answer.destroy();
  return { highest_mb, transactions, megabytes: bytes / 1_048_576 };
}

async function open({ url, token }: Export): Promise<IncomingMessage> {
  const sent = request(url, { headers: { authorization: `Bearer ${token}` } });
  sent.end();
  const [answer] = (await once(sent, "response")) as [IncomingMessage];
  if (answer.statusCode !== 200) throw new Error(`${url} got status ${answer.statusCode}`);
  return answer;
}

/** Counts lines; no field of this data contains a line break. */
function linesOf(piece: Buffer): number {
  let lines = 0;
  for (let at = piece.indexOf(10); at >= 0; at = piece.indexOf(10, at + 1)) lines++;
  return lines;
}
