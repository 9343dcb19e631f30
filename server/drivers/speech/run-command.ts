import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { SpeechError } from "./driver.ts";

/** The result of a command that exited by itself. */
export type CommandResult = {
  readonly status: number;
  readonly output: Buffer;
  /** The beginning of its stderr. */
  readonly stderr: string;
};

export type CommandLimits = { readonly seconds_max: number; readonly output_bytes_max: number };

const stderr_bytes_max = 1_000;

/**
 * Runs a command without a shell, writes `input` to its stdin and returns its output. Throws SpeechError `failed`
 * when it cannot be started, is killed or exceeds its limits; it is then killed with all its children.
 */
export async function runCommand(
  [command, ...args]: readonly string[],
  input: Buffer,
  { seconds_max, output_bytes_max }: CommandLimits,
): Promise<CommandResult> {
  const child = await startCommand(command!, args);
  const { promise, resolve, reject } = Promise.withResolvers<CommandResult>();
  const fail = (reason: string) => reject(new SpeechError("failed", `${command} ${reason}`));
  const output: Buffer[] = [];
  let output_bytes = 0;
  let stderr = "";
  child.stdout.on("data", (piece: Buffer) => {
    output_bytes += piece.length;
    if (output_bytes > output_bytes_max) fail("wrote too much output");
    else output.push(piece);
  });
  child.stderr.on("data", (piece: Buffer) => {
    stderr = `${stderr}${piece.toString("utf8")}`.slice(0, stderr_bytes_max);
  });
  child.on("close", (status, signal) => {
    if (status === null) fail(`was killed by ${signal}`);
    else resolve({ status, output: Buffer.concat(output), stderr: stderr.trim() });
  });
  // A command that does not read all of its input may still succeed.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const timer = setTimeout(() => fail(`took longer than ${seconds_max} s`), seconds_max * 1_000);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    endGroup(child.pid);
    child.stdout.destroy();
    child.stderr.destroy();
  }
}

async function startCommand(
  command: string,
  args: readonly string[],
): Promise<ChildProcessWithoutNullStreams> {
  try {
    // Its own process group, so that its children are killed with it.
    const child = spawn(command, args, { stdio: "pipe", detached: true });
    // Until "spawn" it may have no streams (EMFILE), and its "error" needs a listener.
    await once(child, "spawn");
    return child;
  } catch (error) {
    throw new SpeechError("failed", `${command} could not be run`, { cause: error });
  }
}

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
