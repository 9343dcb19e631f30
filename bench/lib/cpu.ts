import { readFileSync } from "node:fs";
import { treeOf } from "./processes.ts";

/** The unit of /proc: Linux has had it at 100 a second for as long as it has /proc. */
const ticks_per_second = 100;

/** Seconds of processor time the process, its descendants and those that ended have used so far. */
export function cpuOfTree_seconds(pid: number): number {
  const ticks = treeOf(pid).map((one) => {
    const stat = readStat(one);
    // It ended meanwhile: its parent has its share.
    if (stat === null) return 0;
    // From the state on: utime, stime and the same of awaited children are fields 14 to 17.
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
