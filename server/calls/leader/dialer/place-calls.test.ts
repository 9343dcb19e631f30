import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openCallClient } from "../../../../test/support/call-client.ts";
import { makeCall } from "../../../../test/support/call-factory.ts";
import { makeCallingAccount, makeTrunk } from "../../../../test/support/telephony-factory.ts";
import { openCallFixture, type CallFixture } from "../../../../test/support/call-fixture.ts";
import { eventually } from "../../../../test/support/eventually.ts";

let fixture: CallFixture;

before(async () => {
  fixture = await openCallFixture();
});
after(() => fixture.close());

/** The poll interval of a leader that receives no notifications. */
const poll_ms = 500;

test("places a waiting call as soon as another call frees its slot", async () => {
  const { app, node_id } = fixture;
  await app.db.query
    .updateTable("voice_nodes")
    .set({ calls_max: 1 })
    .where("id", "=", node_id)
    .execute();
  fixture.startLeaders();
  // Waiting for the poll takes nearly the whole interval every time; a busy machine delays only now and then.
  await eventually(async () => Math.min(...(await gapsOfCalls())) < poll_ms / 2);
});

/** Returns how long the only slot is free between waiting calls. */
async function gapsOfCalls(): Promise<number[]> {
  const campaigns: number[] = [];
  // Ends at once, because the agent declines.
  for (let i = 0; i < 9; i++)
    campaigns.push(await fixture.call({ from_number: "603", to_number: `980000000${i}` }));
  const times: { began_ms: number; ended_ms: number }[] = [];
  for (const campaign of campaigns) {
    const { initiated_at, ended_at } = await fixture.awaitCall(campaign, "busy");
    times.push({ began_ms: Date.parse(initiated_at), ended_ms: Date.parse(ended_at) });
  }
  const gaps_ms = times.slice(1).map(({ began_ms }, i) => began_ms - times[i]!.ended_ms);
  assert.ok(
    gaps_ms.every((gap_ms) => gap_ms >= 0),
    String(gaps_ms),
  );
  return gaps_ms;
}

test("does not delay an account's single call behind another account's many, even with one free slot at a time", async () => {
  const { app, api } = fixture;
  const other = await openCallClient(api, await makeCallingAccount(app));
  // All are due at the same time, however long their submission takes.
  const due = new Date(api.clock.now().getTime() + 600_000);
  const asked = { from_number: "603", schedulled_at: due.toISOString() };
  const many: number[] = [];
  for (let i = 0; i < 20; i++)
    many.push(await fixture.call({ ...asked, to_number: `981000000${i % 10}` }));
  const one = await other.call({ ...asked, to_number: "9820000000" });
  api.clock.advance(600_000);
  for (const campaign of many) await fixture.awaitCall(campaign, "busy");
  await other.awaitCall(one, "busy");
  const { rows } = await app.db.pool.query<{ campaign_id: number }>(
    `select c.campaign_id from call_events e
    join calls c on c.account_id = e.account_id and c.id = e.call_id
    where e.type = 'call.initiated' and c.campaign_id = any ($1) order by e.id`,
    [[...many, one]],
  );
  const earlier = rows.findIndex(({ campaign_id }) => campaign_id === one);
  assert.ok(earlier >= 0 && earlier < many.length - 5, `${earlier} went before`);
});

test("claims an account's calls only over the trunks over which they are queued", async (t) => {
  const { app, node_id, trunk_id } = fixture;
  let last = trunk_id;
  for (let i = 0; i < 5; i++) last = await makeTrunk(app, [node_id]);
  // The leader has all trunks once it places a call over the last one.
  await placeOver(last);
  const query = t.mock.method(app.db.pool, "query");
  await placeOver(trunk_id);
  const claims = query.mock.calls
    .map(({ arguments: [sent] }) => sent as unknown as { text?: string; values: unknown[] })
    .filter(({ text }) => text?.includes("claim_calls"));
  assert.ok(claims.length > 0);
  for (const { values } of claims) assert.equal(values[2], trunk_id);
});

/** Queues a call to an agent who declines, and waits for its end. */
async function placeOver(trunk_id: number): Promise<void> {
  const { app, account, node_id } = fixture;
  const { account_id } = account;
  const place = { node_id, trunk_id };
  const { campaign_id } = await makeCall(app, account, { place, call: { from_number: "603" } });
  app.notifications.send("call_work", `${node_id}:${account_id}:${trunk_id}`);
  await fixture.awaitCall(campaign_id, "busy");
}
