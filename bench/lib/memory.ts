import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { treeOf } from "./processes.ts";

/** Returns the megabytes of the process and its descendants, with shared pages divided among users (PSS). */
export function pssOfTree_mb(pid: number): number {
  return sumOfTree_mb(pid, "Pss");
}

/** Returns the same with shared pages counted for each process (RSS). */
export function rssOfTree_mb(pid: number): number {
  return sumOfTree_mb(pid, "Rss");
}

function sumOfTree_mb(pid: number, what: "Pss" | "Rss"): number {
  const kilobytes = treeOf(pid).map((one) => {
    const rollup = readRollup(one);
    return Number(new RegExp(`^${what}: +(\\d+) kB$`, "m").exec(rollup)?.[1] ?? 0);
  });
  return kilobytes.reduce((sum, kb) => sum + kb, 0) / 1_024;
}

/** Returns "" if the process has ended. */
function readRollup(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  } catch {
    return "";
  }
}

/** Returns the minimum memory of `samples` samples, four per second: memory of the start is freed gradually. */
export async function settledMemory_mb(pid: number, samples: number): Promise<number> {
  let least_mb = Number.POSITIVE_INFINITY;
  for (let i = 0; i < samples; i++) {
    await wait(250);
    least_mb = Math.min(least_mb, pssOfTree_mb(pid));
  }
  return least_mb;
}
