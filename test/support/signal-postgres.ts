import { readFileSync } from "node:fs";

/** Signals the postmaster and every backend, because each is its own process group. */
export function signalPostgres(postmaster: number, signal: NodeJS.Signals): void {
  process.kill(postmaster, signal);
  const children = readFileSync(`/proc/${postmaster}/task/${postmaster}/children`, "utf8");
  for (const pid of children.trim().split(/\s+/).map(Number)) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      // The backend has ended in the meantime.
      if ((error as { code?: unknown }).code !== "ESRCH") throw error;
    }
  }
}
