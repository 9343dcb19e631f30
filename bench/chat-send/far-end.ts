// The provider's stub as a process of its own: what every contender sends to, and whose log validates.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { LogEntry } from "../../test/support/provider-stub/received-log.ts";

export const access_token = "stub-token";

export type FarEnd = {
  readonly pid: number;
  /** With the API's version. */
  readonly api_url: string;
  /** Forgets what came; from now on answers so long after a request. */
  reset(delay_ms: number): Promise<void>;
  /** Messages a second from the first to the last. Throws unless `count` came, each of them once. */
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
  const pull = async <T>(lever: string, body?: object): Promise<T> => {
    const method = body ? "POST" : "GET";
    const options = body ? { method, body: JSON.stringify(body) } : { method };
    const response = await fetch(`${url}/_stub/${lever}`, options);
    if (!response.ok) throw new Error(`the stub refused ${lever}: ${await response.text()}`);
    return (await response.json()) as T;
  };
  return {
    pid: child.pid!,
    api_url: `${url}/v23.0`,
    async reset(delay_ms) {
      await pull("settings", { delay_ms });
      await pull("reset", {});
    },
    async rateOf(count) {
      const { taken } = await pull<{ taken: number }>("counts");
      const repeated = await pull<unknown[]>("repeated");
      if (taken !== count || repeated.length > 0)
        throw new Error(
          `${taken} messages of ${count} came, ${repeated.length} of them repeatedly`,
        );
      const at = async (index: number) => {
        const { entries } = await pull<{ entries: LogEntry[] }>(`log?from=${index}&limit=1`);
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
