// Clients that send too slowly get 408.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { leadPath, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;
/** The same API with the default time limits, which a slow test process does not reach. */
let unhurried: LeadApi;

before(async () => {
  lead = await startLeadApi({ limits: { headers_timeout_ms: 300, request_timeout_ms: 900 } });
  unhurried = await startLeadApi({ databaseUrl: lead.api.database_url });
});
after(async () => {
  await unhurried.api.close();
  await lead.api.close();
});

test("headers that do not arrive in time are 408, and the connection is closed", async () => {
  const answer = await sendRaw(lead.api.url, ["POST / HTTP/1.1\r\nhost: x\r\nx-slow: "]);
  assert.equal(answer?.status, 408);
  assert.equal(answer.headers.get("connection"), "close");
  assert.equal(JSON.parse(answer.text).type, "request-timeout");
});

test("a body that does not arrive in time is 408, and the connection is closed", async () => {
  const head = rawRequest(`POST ${leadPath(lead.account.workspace_id)}`, {
    authorization: `Bearer ${lead.account.token}`,
    "content-type": "application/json",
    "content-length": "22",
    connection: "keep-alive",
  });
  const answer = await sendRaw(lead.api.url, [head, '{"phone":']);
  assert.equal(answer?.status, 408);
  assert.equal(answer.headers.get("connection"), "close");
  assert.equal(await lead.leadCount(), 0);
});

test("a client that disconnects in the middle of its body creates no lead and affects no other request", async () => {
  const head = rawRequest(`POST ${leadPath(unhurried.account.workspace_id)}`, {
    authorization: `Bearer ${unhurried.account.token}`,
    "content-length": "22",
  });
  assert.equal(await sendRaw(unhurried.api.url, [head, '{"phone":'], { patience_ms: 50 }), null);
  assert.equal((await unhurried.create({ phone: "9876543210" })).status, 201);
  assert.equal(await unhurried.leadCount(), 1);
});
