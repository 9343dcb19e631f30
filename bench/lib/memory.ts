import { readFileSync } from "node:fs";
import { setTimeout as wait } from "node:timers/promises";
import { treeOf } from "./processes.ts";

/** Megabytes of the process and all its descendants, shared pages divided among their users (PSS). */
export function pssOfTree_mb(pid: number): number {
  return sumOfTree_mb(pid, "Pss");
}

/** The same with shared pages counted for each (RSS). */
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

/** Empty: it ended meanwhile. */
function readRollup(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
  } catch {
    return "";
  }
}

/** The least of some seconds, looked at four times each: what a start took is given back only by and by. */
export async function settledMemory_mb(pid: number, looks: number): Promise<number> {
  let least_mb = Number.POSITIVE_INFINITY;
  for (let i = 0; i < looks; i++) {
    await wait(250);
    least_mb = Math.min(least_mb, pssOfTree_mb(pid));
  }
  return least_mb;
}
