import { readFileSync, readdirSync } from "node:fs";

/** Megabytes of the process and all its descendants, shared pages divided among their users (PSS). */
export function pssOfTree_mb(pid: number): number {
  const kilobytes = [pid, ...descendantsOf(pid)].map((one) => {
    const rollup = readFileSync(`/proc/${one}/smaps_rollup`, "utf8");
    return Number(/^Pss: +(\d+) kB$/m.exec(rollup)?.[1]);
  });
  return kilobytes.reduce((sum, kb) => sum + kb, 0) / 1_024;
}

function descendantsOf(pid: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        return [[Number(name), parent] as const];
      } catch {
        return []; // It ended meanwhile.
      }
    });
  const childrenOf = (of: number): number[] =>
    parents.flatMap(([child, parent]) => (parent === of ? [child, ...childrenOf(child)] : []));
  return childrenOf(pid);
}
