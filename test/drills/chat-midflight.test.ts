import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import {
  campaigns_path,
  openChatHouse,
  phonesOf,
  template_name,
  type ChatHouse,
} from "./chat-house.ts";

/** I6 allows a second on a machine that has the time; a sender that did not heed the word goes on for longer. */
const begins_within_ms = 5_000;
const recipients = 1_000;

/** The last message of a campaign, as the provider saw it, in milliseconds after `at`. */
async function lastAfter(house: ChatHouse, phones: readonly string[], at: number): Promise<number> {
  const ours = new Set(phones);
  const last = (await house.stub.log()).findLast(({ to }) => ours.has(to));
  return last === undefined ? -Infinity : last.at - at;
}

async function seen(house: ChatHouse, phones: readonly string[]): Promise<number> {
  const ours = new Set(phones);
  return (await house.stub.log()).filter(({ to }) => ours.has(to)).length;
}

/** Nothing more comes although a sender would have had the time: for two seconds. */
async function staysSilent(house: ChatHouse, phones: readonly string[], at: number) {
  let last_ms = -Infinity;
  await eventually(async () => {
    last_ms = await lastAfter(house, phones, at);
    return Date.now() - at > Math.max(0, last_ms) + 2_000;
  });
  return last_ms;
}

test("after a cancel, a pause, a paused template or an opt-out no message of theirs begins any more", async () => {
  await using house = await openChatHouse({ rate_per_second: 150, stub: { delay_ms: 50 } });
  await house.startWorker();
  const figures: string[] = [];
  const judge = (what: string, last_ms: number) => {
    figures.push(`${what} ${last_ms} ms`);
    assert.ok(last_ms <= begins_within_ms, `${what}: a message began ${last_ms} ms later`);
  };

  // So slow that every slot is taken, and marked messages wait for one.
  await house.stub.pull("POST", "settings", { delay_ms: 3_500 });
  const cancelled = phonesOf(recipients, 0);
  const cancelled_id = await house.createCampaign(cancelled);
  await eventually(async () => (await seen(house, cancelled)) >= 250);
  await house.request("POST", `${campaigns_path}/${cancelled_id}/cancel`);
  judge("cancel", await staysSilent(house, cancelled, Date.now()));
  await eventually(async () => {
    const states = await house.states(cancelled_id);
    return !states["queued"] && !states["deferred"] && !states["dispatching"];
  });
  const { cancelled: never_sent = 0 } = await house.states(cancelled_id);
  assert.ok(never_sent > 0);
  assert.equal(never_sent + (await seen(house, cancelled)), recipients);

  await house.stub.pull("POST", "settings", { delay_ms: 50 });
  const paused = phonesOf(recipients, 10_000);
  const paused_id = await house.createCampaign(paused);
  await eventually(async () => (await seen(house, paused)) > 100);
  await house.request("POST", `${campaigns_path}/${paused_id}/pause`);
  judge("pause", await staysSilent(house, paused, Date.now()));
  const before_resume = await seen(house, paused);
  assert.ok(before_resume < recipients);
  await house.request("POST", `${campaigns_path}/${paused_id}/resume`);
  await eventually(async () => (await seen(house, paused)) > before_resume + 100);

  // The same campaign, its template held by the provider's own webhook.
  const held = () =>
    house.ask("select from chat_holds where scope = 'template' and reason = 'template_paused'");
  await house.stub.pull("POST", "template", { name: template_name, status: "PAUSED" });
  await eventually(async () => (await held()).length > 0);
  judge("template paused", await staysSilent(house, paused, Date.now()));
  const before_approval = await seen(house, paused);
  assert.ok(before_approval < recipients);
  await house.stub.pull("POST", "template", { name: template_name, status: "APPROVED" });
  await house.awaitStatus(paused_id, "completed");
  assert.equal(await seen(house, paused), recipients);

  // Customers whose turn comes within the next seconds ask for an end.
  const stopping = phonesOf(recipients, 20_000);
  const stopping_id = await house.createCampaign(stopping);
  await eventually(async () => (await seen(house, stopping)) > 100);
  const customers = stopping.filter((_, index) => index >= 300 && index < 990 && index % 14 === 0);
  const asked = await Promise.all(
    customers.map(async (from) => {
      await house.stub.pull("POST", "reply", { from, text: "STOP" });
      await eventually(async () => {
        const rows = await house.ask("select from suppressions where phone = $1", [from]);
        return rows.length > 0;
      });
      return { from, at: Date.now() };
    }),
  );
  await house.awaitStatus(stopping_id, "completed");
  await house.awaitReports();
  let latest_ms = -Infinity;
  for (const { from, at } of asked)
    latest_ms = Math.max(latest_ms, await lastAfter(house, [from], at));
  judge("opt-out", latest_ms);
  const { skipped = 0, read = 0 } = await house.states(stopping_id);
  assert.ok(skipped > 0, "some asked before their turn");
  assert.equal(skipped + read, recipients);
  const optedOut = await house.ask("select from chat_replies where opted_out");
  assert.equal(optedOut.length, customers.length);

  console.log(
    `last request after the word: ${figures.join(", ")}; ${never_sent} cancelled, ${skipped} of ${customers.length} skipped`,
  );
  await house.checkBooks();
  assert.deepEqual(house.casualties(), []);
});
