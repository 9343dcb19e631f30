import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

type Violation = { readonly location: readonly string[]; readonly message: string };

export type ValidatingProxy = {
  readonly url: string;
  /** Returns the requests since the last call, and the violations in them and their responses. */
  take(): { readonly passed: number; readonly found: readonly string[] };
  close(): Promise<void>;
};

/** If there are very many violations, Prism sends a sentence instead of a list. */
function readViolations(header: string | null): string[] {
  if (header === null) return [];
  if (!header.startsWith("[")) return [header];
  const violations = JSON.parse(header) as Violation[];
  return violations.map(({ location, message }) => `${location.join(".")}: ${message}`);
}

/** Starts a proxy that forwards requests to Prism and collects the violations that it reports in headers. */
export async function startValidatingProxy(prism_url: string): Promise<ValidatingProxy> {
  let found: string[] = [];
  let passed = 0;
  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const headers = new Headers();
    for (const name of ["authorization", "content-type", "user-agent"]) {
      const value = request.headers[name];
      if (typeof value === "string") headers.set(name, value);
    }
    const answer = await fetch(prism_url + request.url, {
      method: request.method!,
      headers,
      ...(chunks.length === 0 ? {} : { body: Buffer.concat(chunks) }),
    });
    const text = await answer.text();
    found.push(...readViolations(answer.headers.get("sl-violations")));
    if (text.includes("stoplight.io/prism/errors")) found.push(text);
    passed += 1;
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(text);
  };
  const server = createServer((request, response) => void pass(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    take() {
      const taken = { passed, found };
      passed = 0;
      found = [];
      return taken;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
