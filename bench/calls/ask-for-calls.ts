// Click-to-calls asked for over HTTP.
import { Pool } from "undici";
import { agent, customerOf } from "./fixture.ts";

/** Numbers the requests, for whoever notes when they come. */
export const request_header = "x-bench-request";

const connections = 64;

export type Asker = {
  /** Asks for a call to the `i`th customer; returns its campaign. Throws unless it is answered 200. */
  ask(i: number): Promise<number>;
  close(): Promise<void>;
};

export function openAsker(port: number, token: string): Asker {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return {
    async ask(i) {
      const answer = await pool.request({
        method: "POST",
        path: "/api/v1/clickToCallApis/clickToCall",
        headers: { ...headers, [request_header]: String(i) },
        body: JSON.stringify({ from_number: agent.extension, to_number: customerOf(i) }),
      });
      const said = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`a call was answered ${said}`);
      return (JSON.parse(said) as { data: { campaignId: number } }).data.campaignId;
    },
    close: () => pool.destroy(),
  };
}
