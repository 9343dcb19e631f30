import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { promisify } from "node:util";
import { findAsteriskFiles, unprivileged } from "./asterisk-files.ts";
import type { AsteriskPorts } from "./choose-ports.ts";
import { prepareRun } from "./prepare-run.ts";

export type RunningAsterisk = {
  /** `http://127.0.0.1:<port>/ari` */
  readonly ari_url: string;
  readonly ari_user: string;
  readonly ari_password: string;
  /** The Stasis application of the dialplan. */
  readonly app: string;
  /** The call records, one line of CSV each (asterisk/etc/cdr_custom.conf); created by the first one. */
  readonly cdr_path: string;
  /** Contains `clip1.wav` (1.5 s) and `clip5.wav` (5 s). */
  readonly sounds_dir: string;
  readonly run_dir: string;
  readonly sip_port: number;
  readonly ports: AsteriskPorts;
  readonly pid: number;
  /** Returns the output of `asterisk -rx`. */
  cli(command: string): Promise<string>;
  /** Stops it cleanly within 20 s, or by SIGKILL, and waits until it has exited. */
  stop(): Promise<void>;
  /** Sends SIGKILL and waits until it has exited. */
  kill(): Promise<void>;
};

/** Generous, because a busy machine may be slow. */
const patience_ms = 120_000;
const stop_ms = 20_000;

/**
 * Starts the unpacked Asterisk on 127.0.0.1 with all its output in `run_dir` (created if missing), as user nobody if
 * this process is root; resolves when it has booted and ARI responds. On an existing folder it keeps its ports and
 * password. It ends with this process. Throws with the end of its log if it does not start.
 */
export async function startAsterisk(options: {
  readonly run_dir: string;
  readonly ports?: Partial<AsteriskPorts>;
}): Promise<RunningAsterisk> {
  const files = findAsteriskFiles();
  if (files === null) throw new Error("Asterisk is not installed; run: npm run asterisk:install");
  const run_dir = resolve(options.run_dir);
  const { ports, ari_password } = await prepareRun(files, run_dir, options.ports ?? {});
  const asterisk = [
    ...files.command("usr/sbin/asterisk"),
    "-C",
    join(run_dir, "etc/asterisk.conf"),
  ];
  const child = launch([...asterisk, "-f"], run_dir);
  const cli = async (command: string) => {
    const [program, words] = unprivileged([...asterisk, "-rx", command]);
    return (await promisify(execFile)(program, words)).stdout;
  };
  const running: RunningAsterisk = {
    ari_url: `http://127.0.0.1:${ports.http}/ari`,
    ari_user: "trunkline",
    ari_password,
    app: "trunkline",
    cdr_path: join(run_dir, "log/cdr-custom/calls.csv"),
    sounds_dir: join(run_dir, "sounds"),
    run_dir,
    sip_port: ports.sip,
    ports,
    pid: child.pid!,
    cli,
    stop: () => end(child, "SIGTERM"),
    kill: () => end(child, "SIGKILL"),
  };
  await awaitReady(running, child);
  return running;
}

function launch(words: readonly string[], run_dir: string): ChildProcess {
  const output = openSync(join(run_dir, "output.log"), "a");
  const [program, rest] = unprivileged(words);
  const child = spawn(program, rest, {
    cwd: run_dir,
    // More arenas only use more memory under load; see docs/guides/asterisk.md.
    env: { ...process.env, HOME: run_dir, MALLOC_ARENA_MAX: "2" },
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  // Reported by awaitReady.
  child.on("error", () => {});
  return child;
}

/** Waits for the console, then ARI, then the last modules. */
async function awaitReady(running: RunningAsterisk, child: ChildProcess): Promise<void> {
  const deadline = performance.now() + patience_ms;
  const isPast = () => child.pid === undefined || hasEnded(child) || performance.now() > deadline;
  while (!isPast() && !(await hasBooted(running))) await wait(20);
  if (!isPast() && (await answersPing(running))) return;
  const why = hasEnded(child)
    ? `ended (${child.exitCode ?? child.signalCode})`
    : `does not answer at ${running.ari_url}`;
  await end(child, "SIGKILL");
  throw new Error(`Asterisk ${why}; the end of its log in ${running.run_dir}:\n${tail(running)}`);
}

async function hasBooted({ cli }: RunningAsterisk): Promise<boolean> {
  try {
    await cli("core waitfullybooted");
    return true;
  } catch {
    return false; // Not listening yet.
  }
}

/** Reports whether ARI responds; another program on that port does not accept the password. */
async function answersPing({ ari_url, ari_user, ari_password }: RunningAsterisk): Promise<boolean> {
  const authorization = `Basic ${btoa(`${ari_user}:${ari_password}`)}`;
  try {
    const answer = await fetch(`${ari_url}/asterisk/ping`, {
      headers: { authorization, connection: "close" },
      signal: AbortSignal.timeout(patience_ms),
    });
    await answer.body?.cancel();
    return answer.ok;
  } catch {
    return false;
  }
}

function tail({ run_dir }: RunningAsterisk): string {
  const logs = ["output.log", "log/messages"].map((name) => join(run_dir, name));
  const lines = logs
    .filter((path) => existsSync(path))
    .map((path) => {
      return readFileSync(path, "utf8").trimEnd().split("\n").slice(-20).join("\n");
    });
  return lines.join("\n");
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.pid === undefined || hasEnded(child)) return;
  const gone = once(child, "exit");
  child.kill(signal);
  const killer = setTimeout(() => child.kill("SIGKILL"), stop_ms);
  await gone;
  clearTimeout(killer);
}
