import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** A live process and its command line, arguments joined by spaces. */
export type Process = { readonly pid: number; readonly command: string };

/** The process with this id, or null when there is none or only a corpse that waits for its parent. */
export function liveProcess(pid: number): Process | null {
  if (process.platform !== "linux") return listWithPs("-p", String(pid))[0] ?? null;
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    return command === "" ? null : { pid, command };
  } catch {
    return null;
  }
}

/** Every process that can be seen from here. */
export function liveProcesses(): Process[] {
  if (process.platform !== "linux") return listWithPs("-A");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => liveProcess(Number(name)))
    .filter((found) => found !== null);
}

/** True when the id is taken, be it by a corpse or by another user's process. */
export function pidIsTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Sends a signal; a process that has gone meanwhile is no error. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Systems without /proc. ps exits with 1 when it finds nothing. */
function listWithPs(...selection: string[]): Process[] {
  try {
    const lines = execFileSync("ps", ["-ww", "-o", "pid=,args=", ...selection], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "ignore"],
    });
    return lines
      .split("\n")
      .map((line) => /^\s*(\d+)\s+(.*)$/.exec(line))
      .filter((match) => match !== null)
      .map((match) => ({ pid: Number(match[1]), command: match[2] ?? "" }))
      .filter(({ command }) => command !== "" && !command.includes("<defunct>"));
  } catch {
    return [];
  }
}
