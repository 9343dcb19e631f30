// The provider stub as a separate process: every contender sends to it, and its log is the measure.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { LogEntry } from "../../test/support/provider-stub/received-log.ts";

export const access_token = "stub-token";

export type FarEnd = {
  readonly pid: number;
  /** The base URL with the API's version. */
  readonly api_url: string;
  /** Clears the log and sets the delay of responses. */
  reset(delay_ms: number): Promise<void>;
  /** Returns messages per second from the first to the last. Throws unless exactly `count` arrived, each once. */
  rateOf(count: number): Promise<number>;
  stop(): Promise<void>;
};

export async function startFarEnd(): Promise<FarEnd> {
  const script = join(import.meta.dirname, "../../test/support/provider-stub/main.ts");
  const child = spawn(process.execPath, [script], {
    env: { PATH: process.env["PATH"], STUB_SETTINGS: JSON.stringify({ access_token }) },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = line.toString().trim().split(" ")[1]!;
  const control = async <T>(path: string, body?: object): Promise<T> => {
    const method = body ? "POST" : "GET";
    const options = body ? { method, body: JSON.stringify(body) } : { method };
    const response = await fetch(`${url}/_stub/${path}`, options);
    if (!response.ok) throw new Error(`the stub refused ${path}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  return {
    pid: child.pid!,
    api_url: `${url}/v23.0`,
    async reset(delay_ms) {
      await control("settings", { delay_ms });
      await control("reset", {});
    },
    async rateOf(count) {
      const { taken } = await control<{ taken: number }>("counts");
      const repeated = await control<unknown[]>("repeated");
      if (taken !== count || repeated.length > 0)
        throw new Error(
          `${taken} of ${count} messages arrived, ${repeated.length} of them repeatedly`,
        );
      const at = async (index: number) => {
        const { entries } = await control<{ entries: LogEntry[] }>(`log?from=${index}&limit=1`);
        return entries[0]!.at;
      };
      return ((count - 1) * 1_000) / ((await at(count - 1)) - (await at(0)));
    },
    async stop() {
      const ended = once(child, "exit");
      child.stdin.end();
      await ended;
    },
  };
}
