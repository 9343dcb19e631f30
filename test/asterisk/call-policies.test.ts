// Ring strategies when the agent does not answer, retries, and what follows a call.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { notifyCall } from "../../server/chat/single-messages/notify-call.ts";
import type { ChatDriver, Outgoing } from "../../server/drivers/chat/driver.ts";
import { workJobs } from "../../server/engine/work-jobs.ts";
import {
  channelIn,
  extensions,
  openAsteriskFixture,
  type AsteriskFixture,
} from "../support/asterisk-fixture.ts";
import { isFinal, type CallClient } from "../support/call-client.ts";
import { makeAgentGroup, setCalling } from "../support/telephony-factory.ts";
import { makeFullVoiceFile } from "../support/voice-file-factory.ts";
import { makeChatNumber, makeChatTemplate } from "../support/chat-factory.ts";
import { eventually } from "../support/eventually.ts";
import { makeCredits } from "../support/account-factory.ts";
import { farEnd, refusing } from "../support/sipp/outcomes.ts";

const { answers, answers_too, answers_as_well, busy, declines, rings_on } = extensions;
const messages: Outgoing[] = [];
let fixture: AsteriskFixture;

before(async () => {
  const sandbox = {
    async send(_: unknown, outgoing: Outgoing) {
      messages.push(outgoing);
      return { provider_message_id: `wamid.${outgoing.message_id}` };
    },
  } as unknown as ChatDriver;
  fixture = await openAsteriskFixture({ chatDrivers: { sandbox } });
  fixture.startLeaders();
});
after(() => fixture.close());

type Report = Awaited<ReturnType<CallClient["awaitCall"]>>;

/** Calls from a busy agent with an agent group of these numbers. */
async function withGroup(policy: string, numbers: readonly string[]) {
  const client = await fixture.client();
  const group = await makeAgentGroup(fixture.app, client.account, numbers);
  let customers = 0;
  const call = (more: Record<string, unknown> = {}) =>
    client.call({
      to_number: farEnd("hangs_up", 1).slice(0, -1) + String(++customers),
      from_number: busy,
      agent_not_pick_group: String(group),
      agent_not_pick_policy: policy,
      ...more,
    });
  return { client, call };
}

/** Places the call's retry now: it waits a minute otherwise. */
async function makeRetriesDue(campaign_id: number): Promise<void> {
  await fixture.app.db.query
    .updateTable("calls")
    .set({ due_at: fixture.app.clock.now() })
    .where("campaign_id", "=", campaign_id)
    .where("stage", "=", "queued")
    .execute();
}

const agentsOf = ({ legs }: Report): [string, string][] =>
  legs
    .filter(({ role }: { role: string }) => role === "agent")
    .map(({ number, status }: { number: string; status: string }) => [number, status]);

suite("policies on Asterisk", { concurrency: true }, () => {
  test("next_in_group rings the agents one after another until one answers", async () => {
    const { client, call } = await withGroup("next_in_group", [declines, answers, answers_too]);
    const report = await client.awaitCall(await call(), "completed");
    assert.deepEqual(agentsOf(report), [
      [busy, "busy"],
      [declines, "busy"],
      [answers, "completed"],
    ]);
    assert.equal(report.policy_applied, "next_in_group");
  });

  test("a call whose group does not answer ends with the outcome of the last agent", async () => {
    const { client, call } = await withGroup("next_in_group", [declines]);
    const report = await client.awaitCall(await call(), "busy");
    assert.deepEqual([report.ended_reason, report.cost], ["agent_declined", 0]);
  });

  test("ring_all rings all agents at once: the first to answer gets the call, the others stop ringing", async () => {
    const { client, call } = await withGroup("ring_all", [rings_on, answers]);
    const report = await client.awaitCall(await call(), "completed");
    assert.deepEqual(agentsOf(report), [
      [busy, "busy"],
      [rings_on, "canceled"],
      [answers, "completed"],
    ]);
    await eventually(() => fixture.records(client, report.call_id).length === 4);
    const records = fixture.records(client, report.call_id);
    const [ringing, taken] = [2, 3].map((leg) =>
      records.find(({ channel }) => channel === channelIn(client, report.call_id, leg))!,
    );
    assert.ok(ringing!.start < taken!.end, "both ring at the same time");
    assert.ok(
      ringing!.answer === 0 && ringing!.end < taken!.end,
      "the ringing is canceled at the answer",
    );
  });

  test("when agents answer at the same time, one gets the call and the customer is called once", async () => {
    const { client, call } = await withGroup("ring_all", [answers, answers_too, answers_as_well]);
    const campaign = await call({ to_number: farEnd("speaks") });
    const { call_id } = await client.awaitCall(campaign, "in-progress");
    await eventually(async () => {
      const agents = agentsOf((await client.callRecords(campaign))[0]);
      const talking = agents.filter(([, status]) => status === "in-progress");
      const over = agents.filter(([, status]) => isFinal(status));
      return talking.length === 1 && over.length === 3;
    });
    await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
    const { legs } = await client.awaitCall(campaign, "completed");
    const customers = legs.filter(({ role }: { role: string }) => role === "customer");
    assert.equal(customers.length, 1);
  });

  test("round_robin continues after the agent of the previous call", async () => {
    const { client, call } = await withGroup("round_robin", [
      answers,
      answers_too,
      answers_as_well,
    ]);
    const rung: string[] = [];
    for (let i = 0; i < 4; i++) {
      const report = await client.awaitCall(await call(), "completed");
      rung.push(agentsOf(report)[1]![0]);
    }
    assert.deepEqual(rung, [answers, answers_too, answers_as_well, answers]);
  });

  test("longest_idle rings the agent who has been idle longest", async () => {
    const { client, call } = await withGroup("longest_idle", [answers, answers_too]);
    const rung: string[] = [];
    for (let i = 0; i < 3; i++) {
      const report = await client.awaitCall(await call(), "completed");
      rung.push(agentsOf(report)[1]![0]);
    }
    assert.deepEqual(rung, [answers, answers_too, answers]);
  });

  test("retry_agent rings the same agent again, as often as requested", async () => {
    const { client, call } = await withGroup("retry_agent", [answers]);
    const report = await client.awaitCall(await call({ agent_retry_count: 2 }), "busy");
    assert.deepEqual(agentsOf(report), [
      [busy, "busy"],
      [busy, "busy"],
      [busy, "busy"],
    ]);
    assert.equal(report.ended_reason, "agent_busy");
  });

  test("hangup rings no other agent", async () => {
    const { client, call } = await withGroup("hangup", [answers]);
    const report = await client.awaitCall(await call(), "busy");
    assert.deepEqual(agentsOf(report), [[busy, "busy"]]);
  });

  test("a voicemail that answers for an agent is not connected; an agent who presses 1 is", async () => {
    const presses_1 = `91${farEnd("presses", 3, "1")}`;
    const { client, call } = await withGroup("next_in_group", [presses_1]);
    const accept_voice_file_id = await makeFullVoiceFile(fixture.app, client.account);
    await setCalling(fixture.app, client.account, { accept_voice_file_id });
    const report = await client.awaitCall(
      await call({ from_number: farEnd("speaks") }),
      "completed",
    );
    assert.deepEqual(agentsOf(report), [
      [`91${farEnd("speaks")}`, "no-answer"],
      [presses_1, "completed"],
    ]);
  });

  test("a group member who is in a call is skipped", async () => {
    const { client, call } = await withGroup("next_in_group", [answers, answers_too]);
    const first = await call({ to_number: farEnd("speaks") });
    const { call_id } = await client.awaitCall(first, "in-progress");
    const second = await client.awaitCall(await call(), "completed");
    assert.deepEqual(agentsOf(second), [
      [busy, "busy"],
      [answers_too, "completed"],
    ]);
    await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await client.awaitCall(first, "completed");
  });

  test("a second call of the same pair during a call is canceled without charge and without ringing", async () => {
    const client = await fixture.client();
    const request = { to_number: farEnd("speaks"), from_number: answers };
    const first = await client.call(request);
    const { call_id } = await client.awaitCall(first, "in-progress");
    const second = await client.awaitCall(await client.call(request), "canceled");
    assert.deepEqual([second.ended_reason, second.cost, second.legs], ["already_in_call", 0, []]);
    assert.deepEqual(fixture.records(client, second.call_id), []);
    await client.ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await client.awaitCall(first, "completed");
  });

  test("a busy customer is retried automatically as often as requested; one who declined is not", async () => {
    const client = await fixture.client();
    const more = { from_number: answers, max_retry: 2, retry_after: 0 };
    const campaign = await client.call({ ...more, to_number: refusing(486) });
    const declined = await client.call({ ...more, to_number: refusing(603) });
    await eventually(async () => {
      await makeRetriesDue(campaign);
      const reports = await client.callRecords(campaign);
      return reports.length === 3 && reports.every(({ ended_at }) => ended_at !== null);
    });
    const reports = await client.callRecords(campaign);
    assert.deepEqual(
      reports.map(({ attempt, status, retry_at }) => [attempt, status, retry_at !== null]),
      [
        [1, "busy", true],
        [2, "busy", true],
        [3, "busy", false],
      ],
    );
    assert.equal((await client.awaitCall(declined, "busy")).retry_at, null);
    assert.equal((await client.callRecords(declined)).length, 1);
  });

  test("a manual retry calls both again, up to its limit", async () => {
    const client = await fixture.client();
    const campaign = await client.call({
      to_number: refusing(486),
      from_number: answers,
      customer_retry_count: 1,
    });
    const retry = async () => {
      const { call_id } = await client.awaitCall(campaign, "busy");
      return client.ask("POST", `/api/v1/calls/${call_id}/retry`, { leg: "customer" });
    };
    assert.equal((await retry()).status, 201);
    await eventually(async () => (await client.callRecords(campaign)).length === 2);
    const report = await client.awaitCall(campaign, "busy");
    assert.deepEqual([report.attempt, report.retried_leg, report.cost], [2, "customer", 1]);
    assert.equal((await retry()).status, 409);
  });

  test("a customer with an auto-block is not called again", async () => {
    const client = await fixture.client();
    const request = {
      to_number: farEnd("hangs_up", 1),
      from_number: answers,
      auto_block_time: "60",
    };
    await client.awaitCall(await client.call(request), "completed");
    const next = await client.awaitCall(await client.call(request), "canceled");
    assert.deepEqual([next.ended_reason, next.cost, next.legs], ["suppressed", 0, []]);
    assert.deepEqual(fixture.records(client, next.call_id), []);
  });

  test("the customer receives the chat notification of a call that requests it", async () => {
    const client = await fixture.client();
    await makeCredits(fixture.app, client.account, { chat: 10 });
    const number = await makeChatNumber(fixture.app, client.account);
    const template_id = await makeChatTemplate(fixture.app, client.account, number);
    await fixture.app.db.query
      .updateTable("accounts")
      .set({
        features: ["bulk_chat", "calls"],
        call_notice_chat_number_id: number.id,
        call_notice_template_id: template_id,
      })
      .where("account_id", "=", client.account.account_id)
      .execute();
    const request = { to_number: farEnd("hangs_up", 1), from_number: answers_as_well };
    await client.awaitCall(await client.call(request), "completed");
    const campaign = await client.call({ ...request, enable_chat: "1" });
    await client.awaitCall(campaign, "completed");
    await workJobs(fixture.app, { "chat.notify_call": notifyCall }, new AbortController().signal);
    assert.deepEqual(
      messages.map(({ to }) => to),
      [`91${request.to_number}`],
    );
  });
});

test("the invariants hold and Asterisk has no channels or bridges left", () => fixture.checkAll());
