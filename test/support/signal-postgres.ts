import { readFileSync } from "node:fs";

/** Signals the postmaster and every backend: each is a process group of its own. */
export function signalPostgres(postmaster: number, signal: NodeJS.Signals): void {
  process.kill(postmaster, signal);
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8");
  for (const pid of children.trim().split(/\s+/).map(Number)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // One that has ended meanwhile.
      if ((error as { code?: unknown }).code !== "ESRCH") throw error;
    }
  }
}
