// Submits click-to-calls over HTTP.
import { Pool } from "undici";
import { agent, customerOf } from "./fixture.ts";

/** The header with a request's number, by which its arrival is recorded. */
export const request_header = "x-bench-request";

const connections = 64;

export type CallSubmitter = {
  /** Submits a call to the `i`th customer; returns its campaign ID. Throws unless the status is 200. */
  submit(i: number): Promise<number>;
  close(): Promise<void>;
};

export function openCallSubmitter(port: number, token: string): CallSubmitter {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections, pipelining: 1 });
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return {
    async submit(i) {
      const answer = await pool.request({
        method: "POST",
        path: "/api/v1/clickToCallApis/clickToCall",
        headers: { ...headers, [request_header]: String(i) },
        body: JSON.stringify({ from_number: agent.extension, to_number: customerOf(i) }),
      });
      const text = await answer.body.text();
      if (answer.statusCode !== 200) throw new Error(`a call was refused: ${text}`);
      return (JSON.parse(text) as { data: { campaignId: number } }).data.campaignId;
    },
    close: () => pool.destroy(),
  };
}
