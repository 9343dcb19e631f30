// A retry of the failed recipients of a voice campaign.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { sql } from "kysely";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { leadNodes } from "../../../test/support/call-client.ts";
import {
  checkCalls,
  checkLedger,
  checkVoiceCampaigns,
} from "../../../test/support/check-invariants.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  makeCallingAccount,
  makeSandboxTrunk,
  setCalling,
} from "../../../test/support/telephony-factory.ts";
import { makeContact } from "../../../test/support/crm-factory.ts";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../../../test/support/voice-factory.ts";
import { makeFullVoiceFile } from "../../../test/support/voice-file-factory.ts";
import {
  openSandboxVoiceDriver,
  type SandboxVoiceDriver,
} from "../../drivers/voice/sandbox/open-sandbox-driver.ts";
import type { RecipientState } from "./campaign-record-schema.ts";
import { completeVoiceCampaign, completeVoiceCampaigns } from "./complete-voice-campaigns.ts";
import { drainVoiceCampaign } from "./drain-voice-campaign.ts";
import { synthesizeScripts } from "./synthesize-scripts.ts";

let api: TestApi;
let sandbox: SandboxVoiceDriver;
before(async () => {
  sandbox = openSandboxVoiceDriver({ pace: 50 });
  api = await startApi({ voiceDrivers: { sandbox } });
});
after(async () => {
  await sandbox.close();
  await api.close();
});

const retry = (
  account: TestAccount,
  id: number | string,
  json: unknown = {},
  key = unique("key"),
) =>
  api.send("POST", `/api/v1/voice/campaigns/${id}/retry`, {
    token: account.token,
    json,
    headers: { "idempotency-key": key },
  });

const rowsOf = ({ account_id }: TestAccount, campaign_id: number) =>
  api.app.db.query
    .selectFrom("voice_recipients")
    .select(["id", "state", "attempts"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("id")
    .execute();

async function eventTypes({ account_id }: TestAccount): Promise<string[]> {
  const rows = await api.app.db.query
    .selectFrom("events")
    .select("type")
    .where("account_id", "=", account_id)
    .where("type", "like", "voice.campaign.%")
    .orderBy("id")
    .execute();
  return rows.map(({ type }) => type.slice("voice.campaign.".length));
}

/** Creates a completed campaign of recipients whose last call had this disposition; null: without a call. */
async function makeCompleted(
  account: TestAccount,
  recipients: readonly (readonly [RecipientState, string | null])[],
  campaign: {
    readonly call_type?: "obd_smartvoice" | "obd_ivr";
    readonly callback_url?: string;
    readonly max_retry?: number;
    readonly plan?: string;
  } = {},
  recipient: { readonly number?: string; readonly phone?: string } = {},
) {
  const made = await makeVoiceCampaign(api.app, account, {
    campaign: { ...campaign, state: "completed", finished_at: api.app.clock.now() },
    recipients: recipients.map(([state, disposition]) => ({
      ...recipient,
      state,
      attempts: disposition === null ? 0 : 1,
      finished_at: api.app.clock.now(),
    })),
  });
  for (const [i, [, disposition]] of recipients.entries())
    if (disposition !== null)
      await makeVoiceCall(api.app, account, made, { recipient_id: i + 1, call: { disposition } });
  return made;
}

const outcomes = [
  ["answered", "answered"],
  ["busy", "busy"],
  ["busy", "declined"],
  ["no_answer", "no_answer"],
  ["failed", "unreachable"],
  ["failed", "unallocated"],
  ["failed", "lost"],
  ["failed", null],
  ["machine", "machine"],
  ["suppressed", null],
  ["cancelled", null],
] as const;

// First, because the other tests make calls without events.
test("a retried recipient gets one more call, with the earlier attempts kept and credit of its own", async () => {
  const account = await makeAccount(api.app);
  await setCalling(api.app, account, { night_calling: true });
  await makeCredits(api.app, account, { call: 100 });
  await makeSandboxTrunk(api.app, account);
  const voice_file_id = await makeFullVoiceFile(api.app, account);
  const launched = await api.send("POST", "/api/v1/voice/voiceCampaign", {
    token: account.token,
    json: {
      campaign_name: "Delivery day",
      voice_file_id,
      call_type: "obd_voice_call",
      sendTo: "Numbers",
      number: "9001777701,9002777486",
    },
  });
  const id = launched.body.campaignId as number;
  const status = async () => {
    const path = `/api/v1/voice/campaigns/${id}`;
    return (await api.send("GET", path, { token: account.token })).body;
  };
  const leaders = leadNodes(api.app);
  const completed = () =>
    eventually(async () => {
      await completeVoiceCampaigns(api.app);
      return (await status()).status === "completed";
    });
  try {
    await completed();
    assert.deepEqual([(await status()).answered, (await status()).busy], [1, 1]);
    const key = unique("key");
    const twins = await Promise.all([1, 2].map(() => retry(account, id, {}, key)));
    for (const twin of twins) assert.deepEqual([twin.status, twin.body.retried], [200, 1]);
    await completed();
  } finally {
    await leaders.stop();
  }
  assert.deepEqual(
    (await rowsOf(account, id)).map(({ state, attempts }) => [state, attempts]),
    [
      ["answered", 1],
      ["busy", 2],
    ],
  );
  assert.equal((await status()).attempts, 3);
  assert.deepEqual((await eventTypes(account)).slice(2), ["completed", "retried", "completed"]);
  await checkVoiceCampaigns(api.app.db.pool);
  await checkCalls(api.app.db.pool);
  await checkLedger(api.app.db.pool);
});

/** Makes what is due at the time due now, and waits until the campaign's recipients have these states and attempts. */
async function settled(
  account: TestAccount,
  { id, trunk_id }: { readonly id: number; readonly trunk_id: number },
  expected: readonly (readonly [RecipientState, number])[],
): Promise<void> {
  api.app.notifications.send("voice_work", String(trunk_id));
  let seen: unknown;
  await eventually(async () => {
    const rows = await rowsOf(account, id);
    seen = rows.map(({ state, attempts }) => [state, attempts]);
    return isDeepStrictEqual(seen, expected);
  }).catch((error: unknown) => {
    throw new Error(`recipients are ${JSON.stringify(seen)}`, { cause: error });
  });
}

test("no automatic redial follows a requested retry, whatever the last result was", async () => {
  const account = await makeCallingAccount(api.app);
  const leaders = leadNodes(api.app);
  try {
    for (const [state, disposition] of [
      ["busy", "declined"],
      ["failed", "unallocated"],
      ["failed", "lost"],
      ["machine", "machine"],
      ["failed", null],
    ] as const) {
      const phone = { number: "9001777486", phone: "919001777486" };
      const made = await makeCompleted(account, [[state, disposition]], { max_retry: 3 }, phone);
      const selected = disposition ? { outcomes: [disposition] } : { reasons: ["not_synthesized"] };
      assert.equal((await retry(account, made.id, selected)).body.retried, 1);
      await settled(account, made, [["busy", disposition ? 2 : 1]]);
    }
  } finally {
    await leaders.stop();
  }
  await checkVoiceCampaigns(api.app.db.pool);
});

test("a requested retry that could not be dialed at night is placed in the morning, and is not redialed", async () => {
  const account = await makeCallingAccount(api.app);
  await setCalling(api.app, account, { night_calling: false, time_zone: "Asia/Kolkata" });
  // The contact moved to where it is night.
  const number = "2126777486";
  const moved = { name: "Ada", phone: number, phone_e164: `+1${number}`, time_zone: "Asia/Tokyo" };
  await makeContact(api.app, account, moved);
  api.clock.set("2027-05-03T13:00:00Z");
  const leaders = leadNodes(api.app);
  try {
    const made = await makeCompleted(
      account,
      [["busy", "declined"]],
      { max_retry: 3 },
      { number, phone: `1${number}` },
    );
    assert.equal((await retry(account, made.id, { outcomes: ["declined"] })).body.retried, 1);
    const isWithdrawn = async () => {
      const { rows } = await api.app.db.pool.query(
        "select from calls where campaign_id = $1 and ended_reason = 'night_window'",
        [made.id],
      );
      return rows.length === 1;
    };
    api.app.notifications.send("voice_work", String(made.trunk_id));
    await eventually(isWithdrawn);
    await settled(account, made, [["waiting", 1]]);
    api.clock.set("2027-05-04T03:30:00Z");
    await settled(account, made, [["busy", 2]]);
  } finally {
    await leaders.stop();
    api.clock.release();
  }
  await checkVoiceCampaigns(api.app.db.pool);
});

test("a callback that the customer asks for in a requested retry is placed, and is not redialed", async () => {
  const account = await makeCallingAccount(api.app);
  const later = { type: "callback", delay_minutes: 10, prompt: null };
  const plan = {
    content: { call_type: "obd_ivr", menu: { start: "later", nodes: { later } } },
    opt_out_key: null,
    answering_machine: "off",
  };
  const number = "9001777900";
  const leaders = leadNodes(api.app);
  try {
    const made = await makeCompleted(
      account,
      [["busy", "declined"]],
      { call_type: "obd_ivr", max_retry: 3, plan: JSON.stringify(plan) },
      { number, phone: `91${number}` },
    );
    assert.equal((await retry(account, made.id, { outcomes: ["declined"] })).body.retried, 1);
    await settled(account, made, [["waiting", 2]]);
    // The callback finds the phone busy.
    await api.app.db.query
      .updateTable("voice_recipients")
      .set({ number: "9001777486", phone: "919001777486" })
      .where("account_id", "=", account.account_id)
      .where("campaign_id", "=", made.id)
      .execute();
    api.clock.advance(600_000);
    await settled(account, made, [["busy", 3]]);
  } finally {
    await leaders.stop();
    api.clock.release();
  }
  await checkVoiceCampaigns(api.app.db.pool);
});

test("a retry calls the recipients that an automatic retry would call, and others only by their outcome", async () => {
  const account = await makeAccount(api.app);
  const retriedOf = async (json: unknown) => {
    const { id } = await makeCompleted(account, outcomes);
    const answer = await retry(account, id, json);
    assert.equal(answer.status, 200, answer.text);
    const rows = await rowsOf(account, id);
    const waiting = rows
      .filter(({ state }) => state === "waiting")
      .map((row) => outcomes[row.id - 1]);
    assert.equal(answer.body.retried, waiting.length);
    const { status, pending, finished_at } = answer.body.campaign;
    const expected =
      waiting.length > 0 ? ["running", waiting.length, true] : ["completed", 0, false];
    assert.deepEqual([status, pending, finished_at === null], expected);
    return waiting.map((one) => one![1]);
  };
  assert.deepEqual(await retriedOf({}), ["busy", "no_answer", "unreachable", null]);
  assert.deepEqual(await retriedOf({ outcomes: null }), ["busy", "no_answer", "unreachable", null]);
  assert.deepEqual(await retriedOf({ outcomes: ["no_answer", "declined"] }), [
    "declined",
    "no_answer",
  ]);
  assert.deepEqual(await retriedOf({ outcomes: ["machine", "lost"] }), ["lost", "machine"]);
  assert.deepEqual(await retriedOf({ outcomes: ["congestion"] }), []);
  for (const json of [{ outcomes: ["answered"] }, { outcomes: [] }, { outcomes: "busy" }]) {
    const { id } = await makeCompleted(account, outcomes);
    assert.deepEqual(failingFields(await retry(account, id, json)).length, 1);
  }
  await checkVoiceCampaigns(api.app.db.pool);
});

/** By id: the state, and the last call's disposition and ended_reason; null: without a call. */
const reasons = [
  ["answered", ["answered", "hung_up"]],
  ["busy", ["busy", "customer_busy"]],
  ["busy", ["declined", "customer_declined"]],
  ["no_answer", ["no_answer", "customer_no_answer"]],
  ["failed", ["failed", "customer_failed"]],
  ["failed", ["failed", "agent_lost"]],
  ["failed", ["failed", "agent_lost"]],
  ["failed", ["failed", "answer_missed"]],
  ["failed", ["failed", "playback_failed"]],
  ["failed", ["failed", "ai_agent_unavailable"]],
  ["failed", ["canceled", "speech_rejected"]],
  ["failed", ["lost", "node_lost"]],
  ["machine", ["machine", "node_lost"]],
  ["failed", ["unallocated", "customer_unallocated"]],
  ["failed", null],
  ["suppressed", null],
] as const;

async function makeForReasons(account: TestAccount) {
  const made = await makeCompleted(
    account,
    reasons.map(([state]) => [state, null]),
  );
  for (const [i, [, call]] of reasons.entries())
    if (call) {
      const [disposition, ended_reason] = call;
      await makeVoiceCall(api.app, account, made, {
        recipient_id: i + 1,
        call: { disposition, ended_reason },
      });
    }
  return made;
}

test("a retry by reason calls exactly the recipients that the campaign counts and lists for it", async () => {
  const account = await makeAccount(api.app);
  const get = async (id: number, path: string) =>
    (await api.send("GET", `/api/v1/voice/campaigns/${id}/${path}`, { token: account.token })).body
      .data;
  const { id: counted } = await makeForReasons(account);
  const failures: readonly { reason: string; count: number }[] = await get(counted, "failures");
  const retryable = failures.filter(({ reason }) => reason !== "suppressed");
  assert.deepEqual(retryable.map(({ reason, count }) => `${reason} ${count}`).toSorted(), [
    "agent_lost 2",
    "ai_agent_unavailable 1",
    "answer_missed 1",
    "busy 1",
    "customer_declined 1",
    "customer_failed 1",
    "customer_unallocated 1",
    "no_answer 1",
    "node_lost 1",
    "not_synthesized 1",
    "playback_failed 1",
    "speech_rejected 1",
  ]);
  const idsOf = (rows: readonly { id: number }[]) => rows.map(({ id }) => id);
  for (const { reason, count } of retryable) {
    const { id } = await makeForReasons(account);
    const listed = idsOf(await get(id, `recipients?reason=${reason}`));
    const answer = await retry(account, id, { reasons: [reason] });
    assert.deepEqual([answer.status, answer.body.retried], [200, count], answer.text);
    const rows = await rowsOf(account, id);
    assert.deepEqual(idsOf(rows.filter(({ state }) => state === "waiting")), listed, reason);
    assert.equal(listed.length, count);
  }
  const { id } = await makeForReasons(account);
  const both = await retry(account, id, { reasons: ["busy", "agent_lost"], outcomes: ["failed"] });
  assert.equal(both.body.retried, 2, both.text);
  const wrong = await retry(account, id, { reasons: ["answered", "busy", "suppressed"] });
  assert.deepEqual(failingFields(wrong), ["reasons.0", "reasons.2"]);
  assert.deepEqual(failingFields(await retry(account, id, { reasons: [] })), ["reasons"]);
  await checkVoiceCampaigns(api.app.db.pool);
});

/** Returns the reasons for which the campaign's recipients were not reached. */
async function reasonsOf(account: TestAccount, id: number): Promise<string[]> {
  const path = `/api/v1/voice/campaigns/${id}/failures`;
  const { body } = await api.send("GET", path, { token: account.token });
  return body.data.map(({ reason }: { reason: string }) => reason);
}

test("a script that cannot be synthesized for a retry is counted so, and is retried by default", async () => {
  const account = await makeAccount(api.app);
  // Its recipient has no value for the script.
  const { id } = await makeCompleted(account, [["failed", "lost"]], {
    call_type: "obd_smartvoice",
  });
  assert.deepEqual(await reasonsOf(account, id), ["hung_up"]);
  assert.equal((await retry(account, id, { outcomes: ["lost"] })).body.retried, 1);
  while ((await synthesizeScripts(api.app, new AbortController().signal)) > 0);
  assert.deepEqual(await reasonsOf(account, id), ["not_synthesized"]);
  await completeVoiceCampaign(api.app, account.account_id, id);
  assert.equal((await retry(account, id)).body.retried, 1);
  await checkVoiceCampaigns(api.app.db.pool);
});

test("recipients keep their reason when their retry is cancelled, and are not retried once their call is deleted", async () => {
  const account = await makeAccount(api.app);
  const { id } = await makeCompleted(account, [["failed", "failed"]], {
    call_type: "obd_smartvoice",
  });
  assert.equal((await retry(account, id)).body.retried, 1);
  const { account_id, token } = account;
  const cancelled = await api.send("POST", `/api/v1/voice/campaigns/${id}/cancel`, { token });
  assert.equal(cancelled.status, 200, cancelled.text);
  const job = { account_id, subject: String(id) };
  await drainVoiceCampaign(api.app, job, new AbortController().signal, 60_000);
  assert.deepEqual(await reasonsOf(account, id), ["hung_up"]);

  const { id: purged } = await makeCompleted(account, [["failed", "failed"]]);
  await api.app.db.pool.query("delete from calls where account_id = $1", [account_id]);
  assert.deepEqual(await reasonsOf(account, purged), ["record_deleted"]);
  const answer = await retry(account, purged, { reasons: ["not_synthesized"] });
  assert.equal(answer.body.retried, 0, answer.text);
});

test("a recipient whose call record was deleted is retried by its state, unless it failed", async () => {
  const account = await makeAccount(api.app);
  const retriedOf = async (json: unknown) => {
    const { id } = await makeCompleted(account, outcomes);
    await api.app.db.pool.query("delete from calls where account_id = $1", [account.account_id]);
    const answer = await retry(account, id, json);
    assert.equal(answer.status, 200, answer.text);
    const rows = await rowsOf(account, id);
    return rows.filter(({ state }) => state === "waiting").map((row) => outcomes[row.id - 1]![1]);
  };
  // A declined call left its recipient busy.
  assert.deepEqual(await retriedOf({}), ["busy", "declined", "no_answer", null]);
  assert.deepEqual(await retriedOf({ outcomes: ["busy"] }), ["busy", "declined"]);
  assert.deepEqual(await retriedOf({ outcomes: ["no_answer", "machine"] }), [
    "no_answer",
    "machine",
  ]);
  assert.deepEqual(await retriedOf({ reasons: ["busy"] }), ["busy", "declined"]);
  assert.deepEqual(await retriedOf({ outcomes: ["unreachable", "failed", "lost"] }), []);
  await checkVoiceCampaigns(api.app.db.pool);
});

test("a retried script is synthesized again, and the campaign's callback endpoint is restored", async () => {
  const account = await makeAccount(api.app);
  const callback_url = "https://example.com/retried";
  const { id, public_id } = await makeCompleted(account, [["busy", "busy"]], {
    call_type: "obd_smartvoice",
    callback_url,
  });
  const answer = await retry(account, public_id);
  assert.equal(answer.body.retried, 1, answer.text);
  assert.deepEqual((await rowsOf(account, id))[0], { id: 1, state: "synthesizing", attempts: 1 });
  const endpoint = await api.app.db.query
    .selectFrom("callback_endpoints")
    .select("enabled")
    .where("account_id", "=", account.account_id)
    .where("url", "=", callback_url)
    .executeTakeFirst();
  assert.deepEqual(endpoint, { enabled: true });
  await checkVoiceCampaigns(api.app.db.pool);
});

test("a voice campaign that was cancelled, has not started or was purged is not retried", async () => {
  const account = await makeAccount(api.app);
  const { id } = await makeCompleted(account, [["busy", "busy"]]);
  const set = (values: { state?: string; purged_at?: Date }) =>
    api.app.db.query
      .updateTable("voice_campaigns")
      .set(values)
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .execute();
  for (const state of ["cancelled", "scheduled"]) {
    await set({ state });
    const answer = await retry(account, id);
    assert.deepEqual([answer.status, answer.body.type], [409, "conflict"]);
    assert.match(answer.body.detail, new RegExp(`is ${state} and cannot be retried`));
  }
  await set({ state: "completed", purged_at: api.app.clock.now() });
  assert.match((await retry(account, id)).body.detail, /purged/);
  const other = await makeAccount(api.app);
  assert.equal((await retry(other, id)).status, 404);
});

test("a campaign does not end while a retry makes its recipients due again", async () => {
  const account = await makeAccount(api.app);
  const { id } = await makeCompleted(account, [["busy", "busy"]]);
  const { pool, query } = api.app.db;
  const { account_id } = account;
  const of = [account_id, id];
  await pool.query(
    "update voice_campaigns set state = 'running', finished_at = null where account_id = $1 and id = $2",
    of,
  );
  const { waiting: ending } = await query.transaction().execute(async (tx) => {
    await sql`select retry_failed_voice_recipients(${account_id}, ${id}, null, null, ${api.app.clock.now()})`.execute(
      tx,
    );
    const waiting = completeVoiceCampaign(api.app, account_id, id);
    await awaitsLock(query);
    return { waiting };
  });
  assert.equal(await ending, false);
  assert.deepEqual(
    (await rowsOf(account, id)).map(({ state }) => state),
    ["waiting"],
  );
  const { rows } = await pool.query(
    "select state from voice_campaigns where account_id = $1 and id = $2",
    of,
  );
  assert.deepEqual(rows, [{ state: "running" }]);
});

test("an erased recipient is not called again", async () => {
  const account = await makeAccount(api.app);
  const made = await makeCompleted(account, [
    ["busy", "busy"],
    ["busy", "busy"],
    ["failed", null],
  ]);
  // As an erasure does, which keeps the state.
  await api.app.db.query
    .updateTable("voice_recipients")
    .set({ number: "", phone: "", variables: null })
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", made.id)
    .where("id", "in", [1, 3])
    .execute();
  const retried = await retry(account, made.id);
  assert.equal(retried.body.retried, 1, retried.text);
  const states = (await rowsOf(account, made.id)).map(({ state }) => state);
  assert.deepEqual(states, ["busy", "waiting", "failed"]);
});
