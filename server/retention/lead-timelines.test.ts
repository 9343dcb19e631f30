// What a call's entry on its lead's timeline keeps after the call or an agent's part of it was deleted.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { relay } from "../../test/support/callback-factory.ts";
import { makeVoiceCall, makeVoiceCampaign } from "../../test/support/voice-factory.ts";
import { recordCallOutcome } from "../crm/leads/record-call-outcome.ts";
import { recordMissedCall } from "../crm/leads/record-missed-call.ts";
import { workJobs } from "../engine/work-jobs.ts";
import { applyRetention } from "./apply-retention.ts";
import { erasePerson } from "./erase-person.ts";
import { purgeRecordings } from "./purge-recordings.ts";

const agent = "9876543210";
const caller_id = "919000000099";
const day_ms = 86_400_000;
const never = new AbortController().signal;

let api: TestApi;
before(async () => {
  api = await startApi();
  api.clock.set("2026-03-01T10:00:00Z");
});
after(() => api.close());

type Entry = { kind: string; data: Record<string, unknown> };
const contents = ["transcript", "keys", "collected", "recordingUrl"] as const;

/** Two calls of one recipient that ended on these days, on the timeline of one lead. */
async function openFixture(days: readonly [number, number]) {
  const account = await makeAccount(api.app);
  const { account_id, workspace_id } = account;
  const campaign = await makeVoiceCampaign(api.app, account, {
    campaign: { call_type: "ai_bot", crm_workspace_id: workspace_id },
  });
  // Without a lead, before those with one.
  await makeVoiceCall(api.app, account, campaign);
  const calls: number[] = [];
  for (const [i, day] of days.entries()) {
    const call_id = await makeVoiceCall(api.app, account, campaign, {
      call: {
        attempt: i + 1,
        ended_at: new Date(api.clock.now().getTime() + day * day_ms),
        from_number: caller_id,
        dtmf: "12",
        collected: JSON.stringify({ city: "Pune" }),
        recording_state: "recording",
      },
      said: [{ who: "caller", text: "Hello" }],
    });
    await recordCallOutcome(api.app, { account_id, payload: { call_id, workspace_id } });
    calls.push(call_id);
  }
  await query(account, "update calls set recording_state = 'deleted' where account_id = $1");
  return { account, calls };
}

const query = async ({ account_id }: TestAccount, text: string, ...more: unknown[]) =>
  (await api.app.db.pool.query(text, [account_id, ...more])).rows as Record<string, unknown>[];

async function erase({ token }: TestAccount, phone_number: string): Promise<void> {
  const asked = await api.send("POST", "/api/v1/erasures", { token, json: { phone_number } });
  assert.equal(asked.status, 202, asked.text);
  await relay(api.app);
  while ((await workJobs(api.app, { "retention.erase_person": erasePerson }, never)) > 0);
}

/** Moves the account's lead to another phone, and to another contact: its first one is erased with its leads. */
async function moveLead(account: TestAccount): Promise<void> {
  const { token, workspace_id } = account;
  const other = await api.send("POST", `/api/v1/crm/workspaces/${workspace_id}/leads/create`, {
    token,
    json: { phone: "9123456780", name: "Asha" },
  });
  await query(account, "delete from leads where account_id = $1 and id = $2", other.body.id);
  const change = `update leads set phone = '9123456780', phone_e164 = '919123456780', contact_id = $2
    where account_id = $1`;
  await query(account, change, other.body.contactId);
}

/** Returns the timeline entries that contain a text. */
const entriesWith = (account: TestAccount, text: unknown) =>
  query(
    account,
    "select kind, data from lead_timeline where account_id = $1 and data::text like '%' || $2 || '%'",
    text,
  );

/** For each call on the lead's timeline, the contents that its entry has. */
async function contentsOf(account: TestAccount) {
  const { token, workspace_id } = account;
  const [lead] = await query(account, "select id from leads where account_id = $1");
  const path = `/api/v1/crm/workspaces/${workspace_id}/leads/${lead!["id"] as number}/timeline`;
  const { body } = await api.send("GET", path, { token });
  return (body.data as Entry[])
    .toReversed()
    .filter(({ kind }) => kind === "call")
    .map(({ data }) => [data["callId"], data["outcome"], contents.filter((key) => key in data)]);
}

test("of a call that calls_days deletes, the lead's timeline keeps the outcome, and nothing that was said or pressed", async () => {
  const { account, calls } = await openFixture([0, 5]);
  const all = calls.map((call) => [call, "answered", [...contents]]);
  assert.deepEqual(await contentsOf(account), all);
  const answer = await api.send("PATCH", "/api/v1/account", {
    token: account.token,
    json: { retention: { events_days: null, calls_days: 30 } },
  });
  assert.equal(answer.status, 200, answer.text);
  api.clock.advance(31 * day_ms);
  while ((await applyRetention(api.app, never)) > 0);
  const left = await query(account, "select id from calls where account_id = $1");
  assert.deepEqual(left, [{ id: calls[1] }]);
  assert.deepEqual(await contentsOf(account), [[calls[0], "answered", []], all[1]]);
});

test("of a call whose recording recordings_days deletes, the lead's timeline keeps all but the recording's URL", async () => {
  const { account, calls } = await openFixture([0, 5]);
  await query(account, "update calls set recording_state = 'ready' where account_id = $1");
  const answer = await api.send("PATCH", "/api/v1/account", {
    token: account.token,
    json: { retention: { events_days: null, recordings_days: 30 } },
  });
  assert.equal(answer.status, 200, answer.text);
  api.clock.advance(31 * day_ms);
  while ((await purgeRecordings(api.app, never)) > 0);
  assert.deepEqual(await contentsOf(account), [
    [calls[0], "answered", ["transcript", "keys", "collected"]],
    [calls[1], "answered", [...contents]],
  ]);
});

test("the erasure of an agent removes the transcript and the recording of the agent's calls from their leads' timelines", async () => {
  const { account, calls } = await openFixture([0, 0]);
  const leg = `insert into call_legs (account_id, call_id, id, role, number, on_trunk, state, status, initiated_at, answered_at)
    values ($1, $2, 1, 'agent', $3, true, 'ended', 'completed', $4, $5)`;
  const now = api.clock.now();
  await query(account, leg, calls[0], `91${agent}`, now, now);
  // Of this one, the agent's phone only rang.
  await query(account, leg, calls[1], `91${agent}`, now, null);
  await erase(account, agent);
  assert.deepEqual(await contentsOf(account), [
    [calls[0], "answered", ["keys", "collected"]],
    [calls[1], "answered", [...contents]],
  ]);
});

test("the erasure of a person whose number is a campaign's caller ID keeps the campaign's calls", async () => {
  const { account, calls } = await openFixture([0, 0]);
  await erase(account, caller_id);
  const all = calls.map((call) => [call, "answered", [...contents]]);
  assert.deepEqual(await contentsOf(account), all);
  const stored = "select id from calls where account_id = $1 and from_number = $2";
  assert.equal((await query(account, stored, caller_id)).length, calls.length);
});

test("the erasure of a customer also empties the calls on the timeline of a lead that has another phone now", async () => {
  const { account, calls } = await openFixture([0, 0]);
  const [lead] = await query(account, "select id, phone from leads where account_id = $1");
  await recordMissedCall(api.app, {
    account_id: account.account_id,
    payload: {
      phone: `91${lead!["phone"] as string}`,
      called_number: "8000000001",
      at: new Date(),
    },
  });
  await moveLead(account);
  await erase(account, lead!["phone"] as string);
  assert.deepEqual(
    await contentsOf(account),
    calls.map((call) => [call, "answered", []]),
  );
  assert.deepEqual(await entriesWith(account, lead!["phone"]), []);
});

test("the erasure of a customer finds no phone in the missed calls that earlier versions wrote, once migrated", async () => {
  const { account } = await openFixture([0, 0]);
  const [lead] = await query(account, "select id, phone from leads where account_id = $1");
  const phone = lead!["phone"] as string;
  for (const data of [{ phone, calledNumber: "8000000001" }, { calledNumber: "8000000002" }])
    await query(
      account,
      `insert into lead_timeline (account_id, lead_id, kind, at, data)
       values ($1, $2, 'missed_call', now(), $3)`,
      lead!["id"],
      JSON.stringify(data),
    );
  await moveLead(account);
  const file = join(import.meta.dirname, "../../migrations/0102-phones-of-missed-calls.sql");
  // One batch of all rows.
  const migration = (await readFile(file, "utf8")).replace("batch_of(lead_timeline)", "true");
  await api.app.db.pool.query(migration);
  await erase(account, phone);
  assert.deepEqual(await entriesWith(account, phone), []);
  const missed = await query(
    account,
    "select data from lead_timeline where account_id = $1 and kind = 'missed_call' order by id",
  );
  assert.deepEqual(missed, [
    { data: { calledNumber: "8000000001" } },
    { data: { calledNumber: "8000000002" } },
  ]);
});
