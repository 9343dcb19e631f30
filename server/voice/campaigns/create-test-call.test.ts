// Test calls: when and to which numbers they are placed, and how one ends that is not placed.
import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { makeToken, type TestAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeCallingAccount,
  makeNode,
  makeTrunk,
  setCalling,
} from "../../../test/support/telephony-factory.ts";
import { checkVoiceCampaigns } from "../../../test/support/check-invariants.ts";
import { makeFullVoiceFile } from "../../../test/support/voice-file-factory.ts";
import { makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import { drainVoiceCampaign } from "./drain-voice-campaign.ts";
import { endTestCall } from "./cancel-voice-campaign.ts";

const path = "/api/v1/voice/campaigns/test-call";

let api: TestApi;
let account: TestAccount;
let american_trunk: number;
before(async () => {
  api = await startApi();
  account = await makeCallingAccount(api.app);
  await setCalling(api.app, account, {
    country_code: "1",
    call_destinations_allowed: ["US", "JM"],
    time_zone: "UTC",
    night_calling: false,
    calling_from: "09:00",
    calling_to: "21:00",
  });
  const only_account_id = account.account_id;
  const node_id = await makeNode(api.app, { connected: true });
  american_trunk = await makeTrunk(api.app, [node_id], { only_account_id, destinations: ["US"] });
});
after(async () => {
  await checkVoiceCampaigns(api.app.db.pool);
  await api.close();
});
// 10:00 in New York, 07:00 in San Francisco.
beforeEach(() => api.clock.set("2026-05-01T14:00:00Z"));

const [new_york, san_francisco, jamaica, premium] = [
  "2125550123",
  "4155550123",
  "8765550123",
  "9005550123",
];

async function call(number: string, token = account.token) {
  const voice_file_id = await makeFullVoiceFile(api.app, account);
  const json = { voice_file_id, call_type: "obd_voice_call", number };
  return api.send("POST", path, { token, json });
}

function campaigns() {
  const all = api.app.db.query.selectFrom("voice_campaigns").selectAll();
  return all.where("account_id", "=", account.account_id).orderBy("id").execute();
}

async function stateOf(campaign_id: number) {
  const db = api.app.db.query;
  const { state } = await db
    .selectFrom("voice_campaigns")
    .select("state")
    .where("account_id", "=", account.account_id)
    .where("id", "=", campaign_id)
    .executeTakeFirstOrThrow();
  const recipients = await db
    .selectFrom("voice_recipients")
    .select("state")
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign_id)
    .execute();
  return [state, ...recipients.map((one) => one.state)];
}

const jobOf = (campaign_id: number, until = "2026-05-01T14:00:00Z") => ({
  account_id: account.account_id,
  subject: String(campaign_id),
  payload: { until },
});

test("refuses a test call outside the recipient's hours or to a country that is not allowed with 403, a barred number with 422, and creates nothing", async () => {
  const known = await campaigns();
  for (const [number, status, reason] of [
    [san_francisco, 403, /calling window, 09:00 to 21:00 \(the customer's time, America\//],
    [premium, 422, /^must not be a premium-rate/],
    [jamaica, 403, /^This account may not call numbers of JM$/],
  ] as const) {
    const refused = await call(number);
    const [error, ...others] = refused.body.errors;
    assert.deepEqual([refused.status, error.field, others], [status, "number", []], refused.text);
    assert.match(error.reason, reason);
  }
  api.clock.set("2026-05-01T22:00:00Z");
  const late = await call(new_york);
  assert.deepEqual([late.status, late.body.type], [403, "forbidden"]);
  assert.match(late.body.detail, /calling window, 09:00 to 21:00 \(UTC\)/);
  assert.deepEqual(await campaigns(), known);
});

test("places a test call over a trunk that may call its number", async () => {
  const only_account_id = account.account_id;
  const node_id = await makeNode(api.app, { connected: true });
  const destinations = ["JM"];
  const trunk_id = await makeTrunk(api.app, [node_id], { only_account_id, destinations });
  for (const number of [new_york, jamaica, new_york, jamaica, new_york, jamaica]) {
    const answer = await call(number);
    assert.equal(answer.status, 201, answer.text);
    const { campaignId } = answer.body;
    const made = (await campaigns()).find(({ id }) => id === campaignId)!;
    assert.equal(made.trunk_id, number === jamaica ? trunk_id : american_trunk);
  }
});

test("refuses a test call at a cap on calls with 429 and the time to try again", async () => {
  const known = await campaigns();
  for (const [caps, reason] of [
    [{ account: { legs_day: 0 } }, /^This account has reached its cap/],
    [{ token: { legs_hour: 0 } }, /^This token has reached its cap/],
  ] as const) {
    await setCalling(api.app, account, { call_caps: JSON.stringify(caps) });
    const token = await makeToken(api.app, account);
    const refused = await call(new_york, token);
    assert.deepEqual([refused.status, refused.body.type], [429, "rate-limited"], refused.text);
    assert.match(refused.body.detail, reason);
    assert.equal(refused.headers.get("retry-after"), "3600");
  }
  await setCalling(api.app, account, { call_caps: "{}" });
  assert.deepEqual(await campaigns(), known);
});

test("cancels a test call that is not placed within 10 minutes, also while it is paused", async () => {
  const { app } = api;
  const { campaignId } = (await call(new_york)).body;
  const job = await app.db.query
    .selectFrom("jobs")
    .select(["run_at", "payload"])
    .where("account_id", "=", account.account_id)
    .where("kind", "=", "voice.end_test_call")
    .where("subject", "=", String(campaignId))
    .executeTakeFirst();
  assert.deepEqual(job?.run_at, new Date("2026-05-01T14:10:00Z"));
  assert.deepEqual(job.payload, { until: "2026-05-01T14:10:00.000Z" });
  const paused = await api.send("POST", `/api/v1/voice/campaigns/${campaignId}/pause`, {
    token: account.token,
  });
  assert.equal(paused.status, 200, paused.text);
  api.clock.set(job.run_at);
  assert.equal(await endTestCall(app, jobOf(campaignId)), undefined);
  await drainVoiceCampaign(app, jobOf(campaignId), new AbortController().signal);
  assert.deepEqual(await stateOf(campaignId), ["cancelled", "cancelled"]);
  const { body } = await api.send("GET", `/api/v1/voice/campaigns/${campaignId}`, {
    token: account.token,
  });
  assert.deepEqual([body.status, body.holds, body.paused_reason], ["cancelled", [], null]);
  assert.equal(await endTestCall(app, jobOf(campaignId)), undefined);
});

test("does not cancel a test call that was placed: it checks one in progress again, and keeps a promised callback", async () => {
  const { app } = api;
  const make = async (recipient: Record<string, unknown>, attempts: number) => {
    const campaign = { is_test: true, trunk_id: american_trunk };
    const recipients = [{ ...recipient, attempts }];
    return (await makeVoiceCampaign(app, account, { campaign, recipients })).id;
  };
  const calling = await make({ state: "calling" }, 1);
  assert.deepEqual(await endTestCall(app, jobOf(calling)), {
    again_at: new Date("2026-05-01T14:01:00Z"),
  });
  assert.deepEqual(await stateOf(calling), ["running", "calling"]);
  const promised = await make({ state: "waiting", callbacks: 1 }, 1);
  assert.equal(await endTestCall(app, jobOf(promised)), undefined);
  assert.deepEqual(await stateOf(promised), ["running", "waiting"]);
});

test("a retried test call has 10 minutes again, and is cancelled if it is not placed in them", async () => {
  const { app } = api;
  const { id } = await makeVoiceCampaign(app, account, {
    campaign: { is_test: true, trunk_id: american_trunk, state: "completed" },
    recipients: [{ number: new_york, phone: `1${new_york}`, state: "failed", attempts: 0 }],
  });
  const retried = await api.send("POST", `/api/v1/voice/campaigns/${id}/retry`, {
    token: account.token,
    headers: { "idempotency-key": "retried-test-call" },
    json: { reasons: ["not_synthesized"] },
  });
  assert.deepEqual([retried.status, retried.body.retried], [200, 1], retried.text);
  const { run_at, payload } = await app.db.query
    .selectFrom("jobs")
    .select(["run_at", "payload"])
    .where("account_id", "=", account.account_id)
    .where("kind", "=", "voice.end_test_call")
    .where("subject", "=", String(id))
    .executeTakeFirstOrThrow();
  assert.deepEqual(run_at, new Date("2026-05-01T14:10:00Z"));
  const job = { ...jobOf(id), payload };
  // The job of the launch runs before.
  api.clock.set("2026-05-01T14:05:00Z");
  assert.deepEqual(await endTestCall(app, job), { again_at: run_at });
  assert.equal((await stateOf(id))[0], "running");
  api.clock.set(run_at);
  assert.equal(await endTestCall(app, job), undefined);
  await drainVoiceCampaign(app, job, new AbortController().signal);
  assert.deepEqual(await stateOf(id), ["cancelled", "cancelled"]);
});
