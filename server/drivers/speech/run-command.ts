import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { once } from "node:events";
import { SpeechError } from "./driver.ts";

/** How a command ended by itself. */
export type CommandAnswer = {
  readonly status: number;
  readonly output: Buffer;
  /** The beginning of what it said on stderr. */
  readonly complaint: string;
};

export type CommandLimits = { readonly seconds_max: number; readonly output_bytes_max: number };

const complaint_bytes_max = 1_000;

/**
 * Runs a command without a shell, feeds it `input`, and gathers what it writes. Throws SpeechError `failed`
 * when it cannot be started, is killed, or goes beyond its limits: it is then ended with all its children.
 */
export async function runCommand(
  [command, ...words]: readonly string[],
  input: Buffer,
  { seconds_max, output_bytes_max }: CommandLimits,
): Promise<CommandAnswer> {
  const child = await startCommand(command!, words);
  const { promise, resolve, reject } = Promise.withResolvers<CommandAnswer>();
  const fail = (what: string) => reject(new SpeechError("failed", `${command} ${what}`));
  const output: Buffer[] = [];
  let output_bytes = 0;
  let complaint = "";
  child.stdout.on("data", (piece: Buffer) => {
    output_bytes += piece.length;
    if (output_bytes > output_bytes_max) fail("gave too much sound");
    else output.push(piece);
  });
  child.stderr.on("data", (piece: Buffer) => {
    complaint = `${complaint}${piece.toString("utf8")}`.slice(0, complaint_bytes_max);
  });
  child.on("close", (status, signal) => {
    if (status === null) fail(`was ended by ${signal}`);
    else resolve({ status, output: Buffer.concat(output), complaint: complaint.trim() });
  });
  // One that does not read to the end may still have an answer.
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
  words: readonly string[],
): Promise<ChildProcessWithoutNullStreams> {
  try {
    // A process group of its own: what it started itself ends with it.
    const child = spawn(command, words, { stdio: "pipe", detached: true });
    // Until then it may have no streams (EMFILE), and its "error" must have a listener.
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
