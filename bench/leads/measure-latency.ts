import { once } from "node:events";
import { Agent, request, type IncomingMessage } from "node:http";
import { percentile } from "../lib/figures.ts";
import type { Fixture } from "./fixture.ts";

/** Measures one lead at a time over one keep-alive connection, on an otherwise idle server. */
export async function measureLatency(
  fixture: Fixture,
  requests: number,
): Promise<{ p50_ms: number; p99_ms: number }> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  // As many requests to warm up, because V8 optimizes for longer than a few hundred.
  for (let i = 0; i < requests; i++) await createOne(fixture, agent, i);
  const times_ms: number[] = [];
  for (let i = 0; i < requests; i++) times_ms.push(await createOne(fixture, agent, i));
  agent.destroy();
  return { p50_ms: percentile(times_ms, 50), p99_ms: percentile(times_ms, 99) };
}

/** Creates one lead; returns the duration in ms. */
async function createOne(fixture: Fixture, agent: Agent, number: number): Promise<number> {
  const began_ms = performance.now();
  const phone = String(6_000_000_000 + Math.floor(Math.random() * 3_000_000_000));
  const call = request(fixture.service.url + fixture.path, {
    method: "POST",
    agent,
    headers: { authorization: `Bearer ${fixture.token}`, "content-type": "application/json" },
  });
  call.end(JSON.stringify({ phone, name: `Lead ${number}`, email: "lead@example.com" }));
  const [response] = (await once(call, "response")) as [IncomingMessage];
  response.resume();
  await once(response, "end");
  if (response.statusCode !== 201) throw new Error(`a lead got status ${response.statusCode}`);
  return performance.now() - began_ms;
}
