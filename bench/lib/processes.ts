import { readFileSync, readdirSync } from "node:fs";

/** Returns the IDs of the process and all its descendants. */
export function treeOf(pid: number): number[] {
  const parents = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
        return [[Number(name), parent] as const];
      } catch {
        return []; // It has ended.
      }
    });
  const childrenOf = (of: number): number[] =>
    parents.flatMap(([child, parent]) => (parent === of ? [child, ...childrenOf(child)] : []));
  return [pid, ...childrenOf(pid)];
}
