import { once } from "node:events";
import { request, type IncomingMessage } from "node:http";

/** Sends the headers of a write and a part of its body; `finish` sends the rest and returns the status. */
export function startSlowWrite(
  url: string,
  { method, token, json }: { method: string; token: string; json: object },
): { finish(): Promise<number> } {
  const sent = JSON.stringify(json);
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    "content-length": Buffer.byteLength(sent),
  };
  const slow = request(url, { method, headers });
  const answered = once(slow, "response") as Promise<[IncomingMessage]>;
  slow.write(sent.slice(0, 2));
  return {
    async finish() {
      slow.end(sent.slice(2));
      const [{ statusCode }] = await answered;
      return statusCode!;
    },
  };
}
