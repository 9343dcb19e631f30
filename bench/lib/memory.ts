import { readFileSync } from "node:fs";
import { treeOf } from "./processes.ts";

/** Megabytes of the process and all its descendants, shared pages divided among their users (PSS). */
export function pssOfTree_mb(pid: number): number {
  const kilobytes = treeOf(pid).map((one) => {
    const rollup = readFileSync(`/proc/${one}/smaps_rollup`, "utf8");
    return Number(/^Pss: +(\d+) kB$/m.exec(rollup)?.[1]);
  });
  return kilobytes.reduce((sum, kb) => sum + kb, 0) / 1_024;
}
