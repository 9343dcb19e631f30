// A contender as a process of its own: it is told what to do and answers when it is done.
import { fork } from "node:child_process";
import { once } from "node:events";

/** A number for each thing an order or an answer says. */
export type Figures = Readonly<Record<string, number>>;

export type Child = {
  readonly pid: number;
  /** One order, one answer; orders one after the other. Throws when the process ends instead. */
  ask(order: Figures): Promise<Figures>;
  stop(): Promise<void>;
  /** Tells it to end, and waits until it has done what it does then. */
  end(): Promise<void>;
};

/** Starts the script; resolves when it says that it is ready. */
export async function startChild(script: string, env: Record<string, string>): Promise<Child> {
  const { PATH, NODE_COMPILE_CACHE } = process.env;
  const child = fork(script, { env: { PATH, NODE_COMPILE_CACHE, ...env } });
  const ended = once(child, "exit").then(([code]) => {
    throw new Error(`${script} ended with ${String(code)}`);
  });
  // Nobody may be asking when it is told to stop.
  ended.catch(() => {});
  const answer = async () => {
    const [said] = (await Promise.race([once(child, "message"), ended])) as [Figures];
    return said;
  };
  await answer();
  return {
    pid: child.pid!,
    ask(order) {
      const answered = answer();
      child.send(order);
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

/** The child's side: says that it is ready, then answers each order. A violation ends the process. */
export function answerOrders(act: (order: Figures) => Promise<Figures>): void {
  process.on("message", (order) => {
    void act(order as Figures).then((answer) => process.send?.(answer));
  });
  process.on("disconnect", () => process.exit(1));
  process.send?.({});
}
