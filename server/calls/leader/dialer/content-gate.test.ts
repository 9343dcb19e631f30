import assert from "node:assert/strict";
import { test } from "node:test";
import { openContentGate } from "./content-gate.ts";

const campaign = { account_id: 1, campaign_id: 2 };
const other = { account_id: 1, campaign_id: 3 };

test("after a failure lets one call of the campaign try at growing intervals, and all once one succeeds", () => {
  let now_ms = 0;
  const gate = openContentGate(() => now_ms);
  assert.equal(gate.room(campaign), Infinity);
  // Three calls that were claimed together.
  for (let i = 0; i < 3; i++) assert.equal(gate.failed(campaign, "set_up", "refused"), null);
  assert.deepEqual([gate.room(campaign), gate.room(other)], [0, Infinity]);
  const probes: number[] = [];
  while (probes.length < 8) {
    now_ms += 1_000;
    if (gate.room(campaign) === 0) continue;
    assert.equal(gate.room(campaign), 0, "one probe at a time");
    probes.push(now_ms / 1_000);
    gate.failed(campaign, "set_up", "refused");
  }
  assert.deepEqual(probes, [1, 3, 7, 15, 31, 63, 123, 183]);
  gate.succeeded(campaign, "set_up");
  assert.equal(gate.room(campaign), Infinity);
});

test("gives a reason to pause a campaign that keeps failing, sooner if it fails on answered calls", () => {
  for (const [failure, count] of [
    ["set_up", 15],
    ["answered", 5],
  ] as const) {
    let now_ms = 0;
    const gate = openContentGate(() => now_ms);
    for (let i = 1; i < count; i++) {
      assert.equal(gate.failed(campaign, failure, "refused"), null);
      now_ms += 60_000;
      assert.equal(gate.room(campaign), 1);
      // Sessions that can be set up say nothing about answered calls.
      if (failure === "answered") gate.succeeded(campaign, "set_up");
    }
    const detail = gate.failed(campaign, failure, "refused");
    assert.equal(detail, `${count} attempts in a row failed, most recently: refused`);
    assert.equal(gate.room(campaign), Infinity, "a resumed campaign tries again");
  }
});
