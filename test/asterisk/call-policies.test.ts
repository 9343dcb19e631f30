// Who is rung when the agent does not answer, what is tried again, and what follows a call.
import assert from "node:assert/strict";
import { after, before, suite, test } from "node:test";
import { notifyCall } from "../../server/chat/single-messages/notify-call.ts";
import type { ChatDriver, Outgoing } from "../../server/drivers/chat/driver.ts";
import { workJobs } from "../../server/engine/work-jobs.ts";
import {
  channelIn,
  extensions,
  openAsteriskScene,
  type AsteriskScene,
} from "../support/asterisk-scene.ts";
import { isFinal, type CallDesk } from "../support/call-desk.ts";
import { makeAgentGroup } from "../support/call-makers.ts";
import { makeChatNumber, makeChatTemplate } from "../support/chat-makers.ts";
import { eventually } from "../support/eventually.ts";
import { makeCredits } from "../support/makers.ts";
import { farEnd, refusing } from "../support/sipp/outcomes.ts";

const { answers, answers_too, answers_as_well, busy, declines, rings_on } = extensions;
const messages: Outgoing[] = [];
let scene: AsteriskScene;

before(async () => {
  const sandbox = {
    async send(_: unknown, outgoing: Outgoing) {
      messages.push(outgoing);
      return { provider_message_id: `wamid.${outgoing.message_id}` };
    },
  } as unknown as ChatDriver;
  scene = await openAsteriskScene({ chatDrivers: { sandbox } });
  scene.startLeaders();
});
after(() => scene.close());

type Report = Awaited<ReturnType<CallDesk["reported"]>>;

/** Calls from an agent who is busy, with a group of these behind: the desk and how to call. */
async function withGroup(policy: string, numbers: readonly string[]) {
  const desk = await scene.desk();
  const group = await makeAgentGroup(scene.app, desk.account, numbers);
  let customers = 0;
  const call = (more: Record<string, unknown> = {}) =>
    desk.call({
      to_number: farEnd("hangs_up", 1).slice(0, -1) + String(++customers),
      from_number: busy,
      agent_not_pick_group: String(group),
      agent_not_pick_policy: policy,
      ...more,
    });
  return { desk, call };
}

const agentsOf = ({ legs }: Report): [string, string][] =>
  legs
    .filter(({ role }: { role: string }) => role === "agent")
    .map(({ number, status }: { number: string; status: string }) => [number, status]);

suite("policies on Asterisk", { concurrency: true }, () => {
  test("next_in_group rings one after the other until somebody answers", async () => {
    const { desk, call } = await withGroup("next_in_group", [declines, answers, answers_too]);
    const report = await desk.reported(await call(), "completed");
    assert.deepEqual(agentsOf(report), [
      [busy, "busy"],
      [declines, "busy"],
      [answers, "completed"],
    ]);
    assert.equal(report.policy_applied, "next_in_group");
  });

  test("a group in which nobody answers ends the call as the last of them did", async () => {
    const { desk, call } = await withGroup("next_in_group", [declines]);
    const report = await desk.reported(await call(), "busy");
    assert.deepEqual([report.ended_reason, report.cost], ["agent_declined", 0]);
  });

  test("ring_all rings everybody at once: the first to answer has the call, the others stop ringing", async () => {
    const { desk, call } = await withGroup("ring_all", [rings_on, answers]);
    const report = await desk.reported(await call(), "completed");
    assert.deepEqual(agentsOf(report), [
      [busy, "busy"],
      [rings_on, "canceled"],
      [answers, "completed"],
    ]);
    await eventually(() => scene.records(desk, report.call_id).length === 4);
    const records = scene.records(desk, report.call_id);
    const [ringing, taken] = [2, 3].map((leg) =>
      records.find(({ channel }) => channel === channelIn(desk, report.call_id, leg))!,
    );
    assert.ok(ringing!.start < taken!.end, "rung together");
    assert.ok(ringing!.answer === 0 && ringing!.end < taken!.end, "let go at once");
  });

  test("of agents who answer at the same time one has the call, and the customer is called once", async () => {
    const { desk, call } = await withGroup("ring_all", [answers, answers_too, answers_as_well]);
    const campaign = await call({ to_number: farEnd("speaks") });
    const { call_id } = await desk.reported(campaign, "in-progress");
    await eventually(async () => {
      const agents = agentsOf((await desk.reports(campaign))[0]);
      const talking = agents.filter(([, status]) => status === "in-progress");
      const over = agents.filter(([, status]) => isFinal(status));
      return talking.length === 1 && over.length === 3;
    });
    await desk.ask("POST", `/api/v1/calls/${call_id}/hangup`);
    const { legs } = await desk.reported(campaign, "completed");
    const customers = legs.filter(({ role }: { role: string }) => role === "customer");
    assert.equal(customers.length, 1);
  });

  test("round_robin goes on behind whoever was rung for the call before", async () => {
    const { desk, call } = await withGroup("round_robin", [answers, answers_too, answers_as_well]);
    const rung: string[] = [];
    for (let i = 0; i < 4; i++) {
      const report = await desk.reported(await call(), "completed");
      rung.push(agentsOf(report)[1]![0]);
    }
    assert.deepEqual(rung, [answers, answers_too, answers_as_well, answers]);
  });

  test("longest_idle rings whoever has been without a call the longest", async () => {
    const { desk, call } = await withGroup("longest_idle", [answers, answers_too]);
    const rung: string[] = [];
    for (let i = 0; i < 3; i++) {
      const report = await desk.reported(await call(), "completed");
      rung.push(agentsOf(report)[1]![0]);
    }
    assert.deepEqual(rung, [answers, answers_too, answers]);
  });

  test("retry_agent rings the same agent again, as often as was asked for", async () => {
    const { desk, call } = await withGroup("retry_agent", [answers]);
    const report = await desk.reported(await call({ agent_retry_count: 2 }), "busy");
    assert.deepEqual(agentsOf(report), [
      [busy, "busy"],
      [busy, "busy"],
      [busy, "busy"],
    ]);
    assert.equal(report.ended_reason, "agent_busy");
  });

  test("hangup rings nobody else", async () => {
    const { desk, call } = await withGroup("hangup", [answers]);
    const report = await desk.reported(await call(), "busy");
    assert.deepEqual(agentsOf(report), [[busy, "busy"]]);
  });

  test("a member who is in a call is passed over", async () => {
    const { desk, call } = await withGroup("next_in_group", [answers, answers_too]);
    const first = await call({ to_number: farEnd("speaks") });
    const { call_id } = await desk.reported(first, "in-progress");
    const second = await desk.reported(await call(), "completed");
    assert.deepEqual(agentsOf(second), [
      [busy, "busy"],
      [answers_too, "completed"],
    ]);
    await desk.ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await desk.reported(first, "completed");
  });

  test("a second call of the same two while they talk is canceled, uncharged, and nobody is rung", async () => {
    const desk = await scene.desk();
    const asked = { to_number: farEnd("speaks"), from_number: answers };
    const first = await desk.call(asked);
    const { call_id } = await desk.reported(first, "in-progress");
    const second = await desk.reported(await desk.call(asked), "canceled");
    assert.deepEqual([second.ended_reason, second.cost, second.legs], ["already_in_call", 0, []]);
    assert.deepEqual(scene.records(desk, second.call_id), []);
    await desk.ask("POST", `/api/v1/calls/${call_id}/hangup`);
    await desk.reported(first, "completed");
  });

  test("a busy customer is called again by itself as often as was asked for; one who declined is not", async () => {
    const desk = await scene.desk();
    const more = { from_number: answers, max_retry: 2, retry_after: 0 };
    const campaign = await desk.call({ ...more, to_number: refusing(486) });
    const declined = await desk.call({ ...more, to_number: refusing(603) });
    await eventually(async () => {
      const reports = await desk.reports(campaign);
      return reports.length === 3 && reports.every(({ ended_at }) => ended_at !== null);
    });
    const reports = await desk.reports(campaign);
    assert.deepEqual(
      reports.map(({ attempt, status, retry_at }) => [attempt, status, retry_at !== null]),
      [
        [1, "busy", true],
        [2, "busy", true],
        [3, "busy", false],
      ],
    );
    assert.equal((await desk.reported(declined, "busy")).retry_at, null);
    assert.equal((await desk.reports(declined)).length, 1);
  });

  test("a retry by hand calls both again, until its cap", async () => {
    const desk = await scene.desk();
    const campaign = await desk.call({
      to_number: refusing(486),
      from_number: answers,
      customer_retry_count: 1,
    });
    const retry = async () => {
      const { call_id } = await desk.reported(campaign, "busy");
      return desk.ask("POST", `/api/v1/calls/${call_id}/retry`, { leg: "customer" });
    };
    assert.equal((await retry()).status, 201);
    await eventually(async () => (await desk.reports(campaign)).length === 2);
    const report = await desk.reported(campaign, "busy");
    assert.deepEqual([report.attempt, report.retried_leg, report.cost], [2, "customer", 1]);
    assert.equal((await retry()).status, 409);
  });

  test("a customer who is blocked after a call is not called by the next one", async () => {
    const desk = await scene.desk();
    const asked = { to_number: farEnd("hangs_up", 1), from_number: answers, auto_block_time: "60" };
    await desk.reported(await desk.call(asked), "completed");
    const next = await desk.reported(await desk.call(asked), "canceled");
    assert.deepEqual([next.ended_reason, next.cost, next.legs], ["suppressed", 0, []]);
    assert.deepEqual(scene.records(desk, next.call_id), []);
  });

  test("the customer gets the account's message beside the call when that was asked for", async () => {
    const desk = await scene.desk();
    await makeCredits(scene.app, desk.account, { chat: 10 });
    const number = await makeChatNumber(scene.app, desk.account);
    const template_id = await makeChatTemplate(scene.app, desk.account, number);
    await scene.app.db.query
      .updateTable("accounts")
      .set({ call_notice_chat_number_id: number.id, call_notice_template_id: template_id })
      .where("account_id", "=", desk.account.account_id)
      .execute();
    const asked = { to_number: farEnd("hangs_up", 1), from_number: answers_as_well };
    await desk.reported(await desk.call(asked), "completed");
    const campaign = await desk.call({ ...asked, enable_chat: "1" });
    await desk.reported(campaign, "completed");
    await workJobs(scene.app, { "chat.notify_call": notifyCall }, new AbortController().signal);
    assert.deepEqual(
      messages.map(({ to }) => to),
      [`91${asked.to_number}`],
    );
  });
});

test("after all of these policies the books are right, and Asterisk holds nothing", () =>
  scene.checkAll());
