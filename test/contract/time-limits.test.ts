// A client that sends too slowly is told so and let go.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { rawRequest, sendRaw } from "../support/raw-http.ts";
import { leadPath, startLeadApi, type LeadApi } from "./lead-api.ts";

let lead: LeadApi;
/** The same with the usual limits, which no pause of this process reaches. */
let patient: LeadApi;

before(async () => {
  lead = await startLeadApi({ limits: { headers_timeout_ms: 300, request_timeout_ms: 900 } });
  patient = await startLeadApi({ databaseUrl: lead.api.database_url });
});
after(async () => {
  await patient.api.close();
  await lead.api.close();
});

test("headers that do not arrive in time are 408 and the connection is closed", async () => {
  const answer = await sendRaw(lead.api.url, ["POST / HTTP/1.1\r\nhost: x\r\nx-slow: "]);
  assert.equal(answer?.status, 408);
  assert.equal(answer.headers.get("connection"), "close");
  assert.equal(JSON.parse(answer.text).type, "request-timeout");
});

test("a body that does not arrive in time is 408 and the connection is closed", async () => {
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

test("a client that goes away in the middle of its body makes no lead and harms nobody", async () => {
  const head = rawRequest(`POST ${leadPath(patient.account.workspace_id)}`, {
    authorization: `Bearer ${patient.account.token}`,
    "content-length": "22",
  });
  assert.equal(await sendRaw(patient.api.url, [head, '{"phone":'], { patience_ms: 50 }), null);
  assert.equal((await patient.create({ phone: "9876543210" })).status, 201);
  assert.equal(await patient.leadCount(), 1);
});
