// A person calls a number of an account over a carrier, through a real Asterisk.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
} from "../support/asterisk-fixture.ts";
import { eventually } from "../support/eventually.ts";
import { callIn } from "../support/sipp/call-in.ts";
import { makeAgentGroup, makePhoneNumber, makeTrunk } from "../support/telephony-factory.ts";

let fixture: AsteriskFixture;

before(async () => {
  fixture = await openAsteriskFixture();
});
after(() => fixture.close());

test("a call from another address than the carrier's is refused, also with the trunk's endpoint as its user", async () => {
  const { app } = fixture;
  const client = await fixture.client();
  const leaders = fixture.startLeaders();
  const to = "918044440009";
  await makePhoneNumber(app, client.account, to);
  const nodes = { main: { type: "hang_up" } };
  const body = { name: "Main", start: "main", nodes };
  const menu = await client.ask("POST", "/api/v1/voice/menus", body);
  assert.equal(menu.status, 201, menu.text);
  const path = `/api/v1/phone-numbers/${to}`;
  assert.equal((await client.ask("PATCH", path, { menu_id: menu.body.id })).status, 200);
  const stranger = { from: "trunk", to: `+${to}`, key: "1", address: "127.0.0.2" };
  assert.notEqual(await callIn(fixture.asterisk(), stranger), 0);
  assert.deepEqual((await client.ask("GET", "/api/v1/calls")).body.data, []);
  await leaders.stop();
});

test("a call to an inactive node without live calls is busy", async () => {
  const leaders = fixture.startLeaders();
  await eventually(isConnected);
  await setActive(false);
  try {
    await eventually(async () => !(await isConnected()));
    const call = { from: "+919812345678", to: "+918044440001", key: "1", is_busy: true };
    assert.equal(await callIn(fixture.asterisk(), call), 0);
  } finally {
    await setActive(true);
    await leaders.stop();
  }
});

async function setActive(active: boolean): Promise<void> {
  const { app, node_id } = fixture;
  const node_row = app.db.query.updateTable("voice_nodes").where("id", "=", node_id);
  await node_row.set({ active }).execute();
  app.notifications.send("call_work", `${node_id}:0`);
}

async function isConnected(): Promise<boolean> {
  const { app, node_id } = fixture;
  const node_row = app.db.query.selectFrom("voice_nodes").where("id", "=", node_id);
  return (await node_row.select("connected_at").executeTakeFirstOrThrow()).connected_at !== null;
}

test("an incoming call is answered, plays the menu, connects the key's agent group, goes on under the next node leader, and is recorded", async () => {
  const { app, node_id } = fixture;
  const client = await fixture.client();
  await makeTrunk(app, [node_id], { endpoint: "deadtrunk" });
  const leaders = fixture.startLeaders();
  const number = "918044440001";
  await makePhoneNumber(app, client.account, number);
  const agent_group_id = await makeAgentGroup(app, client.account, [extensions.answers]);
  const main = {
    type: "menu",
    prompt: { say: "Press one to talk to us. ".repeat(5), language: "en" },
    keys: { "1": "agents" },
    otherwise: "bye",
  };
  const agents = { type: "transfer", to: { agent_group_id }, otherwise: "bye" };
  const nodes = { main, agents, bye: { type: "hang_up" } };
  const menu = await client.ask("POST", "/api/v1/voice/menus", {
    name: "Main",
    start: "main",
    nodes,
  });
  assert.equal(menu.status, 201, menu.text);
  const path = `/api/v1/phone-numbers/${number}`;
  assert.equal((await client.ask("PATCH", path, { menu_id: menu.body.id })).status, 200);

  const over = callIn(fixture.asterisk(), { from: "+919812345678", to: `+${number}`, key: "1" });
  const record = async () => (await client.ask("GET", "/api/v1/calls")).body.data[0];
  await eventually(async () => (await record())?.legs[1]?.status === "in-progress");
  const { call_id, campaign_id } = await record();
  await leaders.stop();
  fixture.startLeaders();
  await eventually(isConnected);
  assert.equal((await client.ask("POST", `/api/v1/calls/${call_id}/hangup`)).status, 200);
  assert.equal(await over, 0);
  const call = await client.awaitCall(campaign_id, "completed");
  assert.deepEqual(
    [call.direction, call.from_number, call.to_number, call.dtmf, call.disposition, call.ended_by],
    ["inbound", number, "9812345678", "1", "answered", "api"],
  );
  assert.deepEqual(
    call.legs.map(({ role, number: of }: { role: string; number: string }) => [role, of]),
    [
      ["customer", "919812345678"],
      ["transfer", extensions.answers],
    ],
  );
  assert.equal(call.cost, 0);
  const recording = await client.ask("GET", call.recording_url);
  assert.equal(recording.status, 200);
  await fixture.checkAll();
});
