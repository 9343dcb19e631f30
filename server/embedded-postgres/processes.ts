import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** A live process and its command line, arguments joined by spaces. */
export type Process = { readonly pid: number; readonly command: string };

/** Returns the process with this ID, or null if there is none or only a zombie. */
export function liveProcess(pid: number): Process | null {
  if (process.platform !== "linux") return listWithPs("-p", String(pid))[0] ?? null;
  try {
    const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
    return command === "" ? null : { pid, command };
  } catch {
    return null;
  }
}

/** Returns every visible process. */
export function liveProcesses(): Process[] {
  if (process.platform !== "linux") return listWithPs("-A");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => liveProcess(Number(name)))
    .filter((found) => found !== null);
}

/** Reports whether the ID is in use, including by a zombie or another user's process. */
export function pidIsTaken(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Sends a signal; ignores a process that has exited. */
export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** For systems without /proc. ps exits with 1 if it finds nothing. */
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
