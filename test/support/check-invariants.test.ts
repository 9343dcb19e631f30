// Proves that the invariant checks of the drills can fail.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { App } from "../../server/engine/app.ts";
import { openCallFixture } from "./call-fixture.ts";
import {
  checkAgentsAnsweredFirst,
  checkCallCredits,
  checkCallOutcomes,
  checkCalls,
  checkCampaignCounts,
  checkCampaignCredits,
  checkCampaigns,
  checkNoLiveCustomersLeft,
  checkMessageReports,
  checkNothingDispatching,
  checkProviderIds,
} from "./check-invariants.ts";
import { openChatFixture, startChatFixtureApi, type ChatFixtureApi } from "./chat-fixture.ts";
import { eventually } from "./eventually.ts";

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

const violations: [string, string, typeof checkCampaigns][] = [
  [
    "a count too many",
    "update chat_counts set queued = queued + 1 where slot = 'controls'",
    checkCampaignCounts,
  ],
  [
    "a recipient too few",
    "delete from chat_recipients where id = (select max(id) from chat_recipients)",
    checkCampaignCounts,
  ],
  ["another total", "update chat_campaigns set total = total + 1", checkCampaignCounts],
  [
    "a taken message without an id",
    "update chat_recipients set provider_message_id = null where id = (select max(id) from chat_recipients)",
    checkProviderIds,
  ],
  [
    "an id twice",
    "update chat_recipients set provider_message_id = 'wamid.same'",
    checkProviderIds,
  ],
  [
    "a charge too few",
    "update chat_recipients set charged = false where id = (select max(id) from chat_recipients)",
    checkCampaignCredits,
  ],
  [
    "a message that no sender sends",
    "update chat_recipients set state = 'dispatching', accepted_at = null where id = (select max(id) from chat_recipients)",
    checkNothingDispatching,
  ],
  [
    "a message in another quarter-hour of reports",
    "update chat_report_counts set begins_at = begins_at - interval '15 minutes'",
    checkMessageReports,
  ],
];

test("the invariants of a sent campaign hold, and every violation is detected", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(5);
  const senders = fixture.startSenders();
  await eventually(async () => (await fixture.ask("GET", `/${id}`)).body.status === "completed");
  await senders.stop();
  await assertEachDetected(fixture.app, violations, checkCampaigns);
});

const call_violations: typeof violations = [
  ["a call that never ended", "update calls set stage = 'ending'", checkCallOutcomes],
  ["a call without a disposition", "update calls set disposition = null", checkCallOutcomes],
  [
    "an end that is reported twice",
    `insert into events (account_id, type, occurred_at, data)
     select account_id, type, occurred_at, data from events where type = 'call.completed'`,
    checkCallOutcomes,
  ],
  ["a leg that has not ended", "update call_legs set state = 'answered'", checkCallOutcomes],
  ["a cost that was not paid", "update calls set cost = cost + 1", checkCallCredits],
  ["a wrong billed duration", "update calls set billed_seconds = 1", checkCallCredits],
  [
    "credit that is never released",
    "update credit_reservations set closed_at = null",
    checkCallCredits,
  ],
  [
    "a customer who was called before the agent answered",
    "update call_legs set initiated_at = initiated_at - interval '1 min' where role = 'customer'",
    checkAgentsAnsweredFirst,
  ],
  [
    "a customer who is still marked as on a call",
    "insert into live_customers select account_id, to_phone, id from calls",
    checkNoLiveCustomersLeft,
  ],
];

test("the invariants of ended calls hold, and every violation is detected", async () => {
  const fixture = await openCallFixture();
  try {
    fixture.startLeaders();
    const campaign = await fixture.call({ to_number: "9812345678", from_number: "101" });
    await fixture.awaitCall(campaign, "completed");
    await assertEachDetected(fixture.app, call_violations, checkCalls);
  } finally {
    await fixture.close();
  }
});

/** Asserts that all invariants hold, and that each violation, made in a rolled back transaction, is detected. */
async function assertEachDetected(
  { db: { pool } }: Pick<App, "db">,
  wrong: typeof violations,
  checkAll: typeof checkCampaigns,
): Promise<void> {
  await checkAll(pool);
  for (const [what, change, check] of wrong) {
    const client = await pool.connect();
    try {
      await client.query("begin");
      await client.query(change);
      await assert.rejects(check(client), assert.AssertionError, what);
      await assert.rejects(checkAll(client), assert.AssertionError, what);
    } finally {
      await client.query("rollback");
      client.release();
    }
  }
}
