// Live calls of a restored database, and the node leader that takes them over.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { leadNodes } from "../../../test/support/call-client.ts";
import { failed, makeCall, type CallToMake } from "../../../test/support/call-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { test_secret_key } from "../../../test/support/secrets.ts";
import {
  makeAgentGroup,
  makeCallingAccount,
  makeExtension,
  makeSandboxTrunk,
} from "../../../test/support/telephony-factory.ts";
import { openSandboxVoiceDriver } from "../../drivers/voice/sandbox/open-sandbox-driver.ts";
import { addJob } from "../../engine/add-job.ts";
import { recognizeDatabase } from "../../engine/database-identity.ts";
import { runCommandLine } from "../run-command-line.ts";

const restored_at = new Date(Date.now() - 600_000);
const dialed = { initiated_at: restored_at, queued_at: restored_at, due_at: restored_at };
const sandbox = openSandboxVoiceDriver({ pace: 50 });
let api: TestApi;
before(async () => {
  const open: typeof sandbox.open = (node, onEvent) => {
    const session = sandbox.open(node, onEvent);
    const no_answer = { outcome: "no_answer", cause: 19, sip_status: null, by: "us" } as const;
    const ended_at = new Date(restored_at.getTime() + 30_000);
    const record = { answered_at: null, ended_at, ending: no_answer };
    return { ...session, findCdrs: async (legs) => new Map(legs.map((leg) => [leg, record])) };
  };
  api = await startApi({ voiceDrivers: { sandbox: { ...sandbox, open } } });
});
after(async () => {
  await sandbox.close();
  await api.close();
});

const query = async (text: string, values: unknown[] = []) =>
  (await api.app.db.pool.query(text, values)).rows;

/** Makes the database one that was restored, runs the command, and returns what it held. */
async function restore(): Promise<Record<string, number>> {
  const { app } = api;
  await recognizeDatabase(app.db, new Date());
  await query("update database_identity set timeline = 'another', seen_at = $1", [restored_at]);
  await recognizeDatabase(app.db, new Date());
  const env = { DATABASE_URL: api.database_url, TRUNKLINE_SECRET_KEY: test_secret_key };
  const { code, stdout, stderr } = await runCommandLine(["restored", "--json"], env);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout).held;
}

test("a call that was live when the database was restored rings no phone again: it ends without a further leg or retry", async () => {
  const { app } = api;
  const account = await makeCallingAccount(app);
  for (const extension of ["101", "102"]) await makeExtension(app, account, extension);
  const group = await makeAgentGroup(app, account, ["102"]);
  const place = await makeSandboxTrunk(app, account);
  const live_leg = { state: "ringing", status: "ringing", initiated_at: restored_at };
  const retried = { max_retry: 3, retry_after_minutes: 1 };
  const policy = { policy_applied: "next_in_group", agent_not_pick_group_id: group };
  const make = (call: object, role: string) =>
    makeCall(app, account, {
      place,
      asked: { ...policy, ...retried },
      call: { status: "ringing", ...dialed, ...call },
      legs: [{ ...live_leg, role, number: role === "agent" ? "101" : "919876543210" }],
    });
  const no_answer = { status: "no-answer", disposition: "no_answer", ended_reason: "x" };
  await make({ stage: "agent" }, "agent");
  await make({ stage: "customer" }, "customer");
  await make({ stage: "ending", ...no_answer }, "customer");

  const held = await restore();
  assert.deepEqual([held["live_calls_ended"], held["calls_cancelled"]], [3, 0]);

  const leaders = leadNodes(app);
  try {
    await eventually(async () => {
      const open = await query("select from calls where stage <> 'ended'");
      return open.length === 0;
    });
  } finally {
    await leaders.stop();
  }
  const calls = await query(
    `select c.disposition, c.retry_at,
       (select count(*)::int from call_legs l where l.account_id = $1 and l.call_id = c.id) as legs
     from calls c where c.account_id = $1`,
    [account.account_id],
  );
  const lost = { disposition: "lost", retry_at: null, legs: 1 };
  assert.deepEqual(calls, [lost, lost, lost]);
});

test("a call that was waiting to ring its agent again when the database was restored ends, and blocks its customer for auto_block_time", async () => {
  const { app } = api;
  const account = await makeCallingAccount(app);
  const ended_at = new Date(restored_at.getTime() + 20_000);
  const { id } = await makeCall(app, account, {
    asked: { policy_applied: "retry_agent", auto_block_minutes: 60 },
    call: { stage: "agent", status: "ringing", ...dialed },
    legs: [{ status: "no-answer", outcome: "no_answer", initiated_at: restored_at, ended_at }],
  });
  await restore();
  const [call] = await query(
    "select stage, ended_reason, ended_at from calls where account_id = $1",
    [account.account_id],
  );
  assert.deepEqual(call, { stage: "ended", ended_reason: "node_lost", ended_at });
  const blocks = await query(
    "select phone, source, evidence, expires_at from suppressions where account_id = $1",
    [account.account_id],
  );
  const expires_at = new Date(ended_at.getTime() + 3_600_000);
  const block = { phone: "919876543210", source: "auto_block", expires_at };
  assert.deepEqual(blocks, [{ ...block, evidence: { call_id: id } }]);
});

test("a retry of a call whose chat notification may have been sent in the lost time does not send it again", async () => {
  const { app } = api;
  const account = await makeCallingAccount(app);
  const { account_id } = account;
  await makeExtension(app, account, "101");
  const place = await makeSandboxTrunk(app, account);
  const asked = { enable_chat: true };
  const make = (more: CallToMake) => makeCall(app, account, { place, asked, ...more });
  const ringing = { state: "ringing", status: "ringing", initiated_at: restored_at };
  const queued = await make({ call: { ...dialed, initiated_at: null } });
  const live = await make({
    call: { stage: "agent", status: "ringing", ...dialed },
    legs: [ringing],
  });
  const over = await make({ call: { ...failed, ...dialed, ended_at: restored_at } });
  const unplaced = await make({ call: { ...failed, initiated_at: null, ended_at: restored_at } });
  const payload = { phone: "919876543210", campaign_id: over.campaign_id };
  const subject = `call_campaign:${over.campaign_id}`;
  const job = { account_id, kind: "chat.notify_call", subject, run_at: restored_at } as const;
  await addJob(app.db.query, { ...job, payload }, restored_at);

  const held = await restore();
  const { calls_cancelled, live_calls_ended, notifications_dropped } = held;
  assert.deepEqual([calls_cancelled, live_calls_ended, notifications_dropped], [1, 1, 1]);
  const after_it = await make({ call: { queued_at: new Date(), due_at: new Date() } });
  const leaders = leadNodes(app);
  try {
    const placed = async () => {
      const calls = await query(
        "select stage, initiated_at from calls where account_id = $1 order by id",
        [account_id],
      );
      if (calls.some(({ stage }) => stage !== "ended")) return null;
      return calls.map(({ initiated_at }) => initiated_at !== null);
    };
    await eventually(async () => (await placed()) !== null);
    // One after the other, because they call the same customer.
    for (const { id } of [queued, live, over, unplaced]) {
      const answer = await api.send("POST", `/api/v1/calls/${id}/retry`, {
        token: account.token,
        json: { leg: "agent" },
      });
      assert.equal(answer.status, 201, answer.text);
      await eventually(async () => (await placed()) !== null);
    }
    const at_restore = [false, true, true, false];
    assert.deepEqual(await placed(), [...at_restore, ...Array.from({ length: 5 }, () => true)]);
  } finally {
    await leaders.stop();
  }
  const jobs = await query(
    "select subject from jobs where account_id = $1 and kind = 'chat.notify_call'",
    [account_id],
  );
  assert.deepEqual(jobs, [{ subject: `call_campaign:${after_it.campaign_id}` }]);
});
