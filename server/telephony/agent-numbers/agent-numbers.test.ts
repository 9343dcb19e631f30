import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { openCallClient, type CallClient } from "../../../test/support/call-client.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  makeExtension,
  makeNode,
  makeTrunk,
  setCalling,
} from "../../../test/support/telephony-factory.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
});
after(() => fixture.close());

const numbers = "/api/v1/agent-numbers";

/** A client of an account with a trunk of its own to a carrier. */
async function openClient(agent_numbers: "verified" | "any"): Promise<CallClient> {
  const { app, api } = fixture;
  const account = await makeCallingAccount(app);
  const node_id = await makeNode(app, { driver: "asterisk", connected: true });
  await makeTrunk(app, [node_id], { only_account_id: account.account_id, agent_numbers });
  await app.db.query
    .updateTable("trunks")
    .set({ active: false })
    .where("only_account_id", "is", null)
    .execute();
  return openCallClient(api, account);
}

/** Submits a click-to-call of this agent; returns its status, with the message of a refusal. */
async function callFrom(client: CallClient, from_number: string): Promise<string> {
  const fields = { from_number, to_number: "9876543210" };
  const { status, body } = await client.ask("POST", "/api/v1/clickToCallApis/clickToCall", fields);
  return status === 200 ? "200" : `${status} ${body.message}`;
}

test("over a verified trunk only extensions, group members and listed numbers are rung as agents", async () => {
  const client = await openClient("verified");
  const unknown = /^400 .*from_number: is neither an agent number of this account nor a member/;
  await makeExtension(fixture.app, client.account, "201");
  await makeAgentGroup(fixture.app, client.account, ["919812345670"]);
  assert.equal(await callFrom(client, "201"), "200");
  assert.equal(await callFrom(client, "9812345670"), "200");
  assert.match(await callFrom(client, "9812345671"), unknown);
  const added = await client.ask("POST", numbers, { number: "98123 45671", name: "Asha" });
  assert.equal(added.status, 201, added.text);
  assert.equal(await callFrom(client, "+919812345671"), "200");
  assert.match(await callFrom(await openClient("verified"), "9812345671"), unknown);
  assert.equal((await client.ask("DELETE", `${numbers}/919812345671`)).status, 204);
  assert.match(await callFrom(client, "9812345671"), unknown);
});

test("every spelling of an agent's number is the same number", async () => {
  const client = await openClient("verified");
  await setCalling(fixture.app, client.account, { country_code: "55" });
  const added = await client.ask("POST", numbers, { number: "+555187654321" });
  assert.equal(added.body.number, "555187654321");
  assert.equal(await callFrom(client, "+5551987654321"), "200");
  const again = await client.ask("POST", numbers, { number: "+5551987654321" });
  assert.deepEqual(failingFields(again), ["number"]);
  assert.equal((await client.ask("DELETE", `${numbers}/5551987654321`)).status, 204);
});

test("a trunk that rings any agent needs no list", async () => {
  assert.equal(await callFrom(await openClient("any"), "9812345679"), "200");
});

test("agents' numbers are listed in order, page by page, and each change is in the audit trail", async () => {
  const client = await openClient("verified");
  for (const number of ["+919812345673", "+919812345672"])
    assert.equal((await client.ask("POST", numbers, { number })).status, 201);
  const first = await client.ask("GET", `${numbers}?limit=1`);
  const second = await client.ask("GET", `${numbers}?limit=1&cursor=${first.body.next_cursor}`);
  const listed = [...first.body.data, ...second.body.data];
  assert.deepEqual(
    listed.map(({ number }: { number: string }) => number),
    ["919812345672", "919812345673"],
  );
  assert.equal(second.body.next_cursor, null);
  const invalid = await client.ask("POST", numbers, { number: "201" });
  assert.deepEqual(failingFields(invalid), ["number"]);
  await client.ask("DELETE", `${numbers}/919812345672`);
  const audit = await client.ask("GET", "/api/v1/audit?subject_id=919812345672");
  assert.deepEqual(
    audit.body.data.map(({ action }: { action: string }) => action),
    ["agent_number.removed", "agent_number.added"],
  );
});
