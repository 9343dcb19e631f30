// Runs a contender as a child process that executes commands and returns figures.
import { fork } from "node:child_process";
import { once } from "node:events";

/** The named numbers of a command or a response. */
export type Figures = Readonly<Record<string, number>>;

export type Child = {
  readonly pid: number;
  /** Sends a command and returns its response, one at a time. Throws if the process ends instead. */
  request(command: Figures): Promise<Figures>;
  /** Kills the process and waits until it has ended. */
  stop(): Promise<void>;
  /** Sends SIGTERM and waits until the process has ended. */
  end(): Promise<void>;
};

/** Starts the script; resolves when it is ready. */
export async function startChild(script: string, env: Record<string, string>): Promise<Child> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = fork(script, { env: { PATH, NODE_COMPILE_CACHE, ...env } });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${script} ended with ${String(code)}`);
  });
  // No request may be waiting when it is stopped.
  ended.catch(() => {});
  const answer = async () => {
    const [figures] = (await Promise.race([once(child, "message"), ended])) as [Figures];
    return figures;
  };
  await answer();
  return {
    pid: child.pid!,
    request(command) {
      const answered = answer();
      child.send(command);
      return answered;
    },
    async stop() {
      child.kill("SIGKILL");
      await ended.catch(() => {});
    },
    async end() {
      child.kill("SIGTERM");
      await ended.catch(() => {});
    },
  };
}

/** Runs in the child: reports that it is ready, then executes each command. An error ends the process. */
export function serveCommands(execute: (command: Figures) => Promise<Figures>): void {
  process.on("message", (command) => {
    void execute(command as Figures).then((answer) => process.send?.(answer));
  });
  process.on("disconnect", () => process.exit(1));
  process.send?.({});
}
