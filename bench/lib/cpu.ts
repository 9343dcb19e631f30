import { readFileSync } from "node:fs";
import { treeOf } from "./processes.ts";

/** The unit of times in /proc; always 100 per second on Linux. */
const ticks_per_second = 100;

/** Returns the seconds of processor time of the process and its descendants so far, including ended ones. */
export function cpuOfTree_seconds(pid: number): number {
  const ticks = treeOf(pid).map((one) => {
    const stat = readStat(one);
    // It has ended, and its parent has its time.
    if (stat === null) return 0;
    // Fields 14 to 17 are utime and stime of the process and of its awaited children.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  });
  return ticks.reduce((sum, one) => sum + one, 0) / ticks_per_second;
}

function readStat(pid: number): string | null {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    return null;
  }
}
