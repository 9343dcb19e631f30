import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDesk } from "../../../test/support/call-desk.ts";
import { makeCallingAccount } from "../../../test/support/call-makers.ts";
import { openCallScene, type CallScene } from "../../../test/support/call-scene.ts";

let scene: CallScene;

before(async () => {
  scene = await openCallScene();
});
after(() => scene.close());

/** Of a leader that hears of nothing. */
const poll_ms = 500;

test("a call that waits for a place is placed as soon as another one leaves it", async () => {
  const { app, node_id } = scene;
  await app.db.query
    .updateTable("voice_nodes")
    .set({ calls_max: 1 })
    .where("id", "=", node_id)
    .execute();
  const campaigns: number[] = [];
  // Over at once, for the agent declines.
  for (let i = 0; i < 9; i++)
    campaigns.push(await scene.call({ from_number: "603", to_number: `980000000${i}` }));
  scene.startLeaders();
  const times: { began_ms: number; ended_ms: number }[] = [];
  for (const campaign of campaigns) {
    const { initiated_at, ended_at } = await scene.reported(campaign, "busy");
    times.push({ began_ms: Date.parse(initiated_at), ended_ms: Date.parse(ended_at) });
  }
  const gaps_ms = times.slice(1).map(({ began_ms }, i) => began_ms - times[i]!.ended_ms);
  assert.ok(
    gaps_ms.every((gap_ms) => gap_ms >= 0),
    String(gaps_ms),
  );
  // One that waits for its poll waits for nearly all of it, every time: a busy machine now and then.
  assert.ok(Math.min(...gaps_ms) < poll_ms / 2, String(gaps_ms));
});

test("an account's one call does not wait behind another account's many, also where one place is free at a time", async () => {
  const { app, api } = scene;
  const other = await openDesk(api, await makeCallingAccount(app));
  // All due at once, however long it takes to submit them.
  const due = new Date(api.clock.now().getTime() + 600_000);
  const asked = { from_number: "603", schedulled_at: due.toISOString() };
  const many: number[] = [];
  for (let i = 0; i < 20; i++)
    many.push(await scene.call({ ...asked, to_number: `981000000${i % 10}` }));
  const one = await other.call({ ...asked, to_number: "9820000000" });
  api.clock.advance(600_000);
  const { initiated_at } = await other.reported(one, "busy");
  const reports = [];
  for (const campaign of many) reports.push(await scene.reported(campaign, "busy"));
  const earlier = reports.filter((report) => report.initiated_at < initiated_at);
  assert.ok(earlier.length < many.length - 5, `${earlier.length} went before`);
});
