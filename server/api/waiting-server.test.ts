import assert from "node:assert/strict";
import { test } from "node:test";
import { freePort } from "../../test/support/free-port.ts";
import { openWaitingServer } from "./waiting-server.ts";

test("while the service waits, each answer is 503 with its own request ID, and a chat campaign's has the RateLimit headers", async (t) => {
  const port = await freePort();
  const server = await openWaitingServer({ host: "127.0.0.1", port });
  t.after(() => server.close());
  const post = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, { method: "POST" });
    const id = response.headers.get("x-request-id");
    assert.ok(id);
    assert.equal(response.status, 503);
    return { id, headers: response.headers, body: (await response.json()) as object };
  };
  const campaign = await post("/chat/campaigns");
  for (const name of ["limit", "remaining", "reset"])
    assert.match(campaign.headers.get(`ratelimit-${name}`) ?? "", /^\d+$/, name);
  const lead = await post("/crm/contacts");
  assert.equal(lead.headers.get("ratelimit-limit"), null);
  assert.equal((lead.body as { request_id?: string }).request_id, lead.id);
  assert.notEqual(lead.id, campaign.id);
});
