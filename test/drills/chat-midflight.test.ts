import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "../support/eventually.ts";
import {
  campaigns_path,
  openChatDrillFixture,
  phonesOf,
  template_name,
  type ChatDrillFixture,
} from "./chat-drill-fixture.ts";

const recipients = 1_000;
/** Slow enough that a busy machine sends the command long before the campaign ends. */
const slow_per_second = 50;
const fast_per_second = 500;

/** Returns when the provider received the last message to these phones, in milliseconds after `at`. */
async function lastAfter(
  fixture: ChatDrillFixture,
  phones: readonly string[],
  at: number,
): Promise<number> {
  const ours = new Set(phones);
  const last = (await fixture.stub.log()).findLast(({ to }) => ours.has(to));
  return last === undefined ? -Infinity : last.at - at;
}

async function countReceived(
  fixture: ChatDrillFixture,
  phones: readonly string[],
): Promise<number> {
  const ours = new Set(phones);
  return (await fixture.stub.log()).filter(({ to }) => ours.has(to)).length;
}

/** Waits until two seconds passed without a message to these phones; returns when the last one arrived. */
async function awaitSilence(fixture: ChatDrillFixture, phones: readonly string[], at: number) {
  let last_ms = -Infinity;
  await eventually(async () => {
    last_ms = await lastAfter(fixture, phones, at);
    return Date.now() - at > Math.max(0, last_ms) + 2_000;
  });
  return last_ms;
}

test("after a cancel, a pause, a paused template or an opt-out, no further message that it concerns is sent", async () => {
  await using fixture = await openChatDrillFixture({ rate_per_second: fast_per_second });
  await fixture.startWorker();
  // An idle machine takes less than a second; printed instead of asserted, because a busy one takes longer.
  const figures: string[] = [];
  const note = (what: string, last_ms: number) => figures.push(`${what} ${last_ms} ms`);

  // So slow that all slots are in use and marked messages wait for one.
  await fixture.stub.control("POST", "settings", { delay_ms: 3_500 });
  const cancelled = phonesOf(recipients, 0);
  const cancelled_id = await fixture.createCampaign(cancelled);
  await eventually(async () => (await countReceived(fixture, cancelled)) >= 250);
  await fixture.request("POST", `${campaigns_path}/${cancelled_id}/cancel`);
  note("cancel", await awaitSilence(fixture, cancelled, Date.now()));
  await eventually(async () => {
    const states = await fixture.states(cancelled_id);
    return !states["queued"] && !states["deferred"] && !states["dispatching"];
  });
  const { cancelled: never_sent = 0 } = await fixture.states(cancelled_id);
  assert.ok(never_sent > 0);
  assert.equal(never_sent + (await countReceived(fixture, cancelled)), recipients);

  await fixture.stub.control("POST", "settings", { delay_ms: 50 });
  await fixture.setRate(slow_per_second);
  const paused = phonesOf(recipients, 10_000);
  const paused_id = await fixture.createCampaign(paused);
  await eventually(async () => (await countReceived(fixture, paused)) > 50);
  await fixture.request("POST", `${campaigns_path}/${paused_id}/pause`);
  note("pause", await awaitSilence(fixture, paused, Date.now()));
  const before_resume = await countReceived(fixture, paused);
  assert.ok(before_resume < recipients);
  await fixture.request("POST", `${campaigns_path}/${paused_id}/resume`);
  await eventually(async () => (await countReceived(fixture, paused)) > before_resume + 50);

  // The same campaign; a webhook of the provider pauses its template.
  const held = () =>
    fixture.query("select from chat_holds where scope = 'template' and reason = 'template_paused'");
  await fixture.stub.control("POST", "template", { name: template_name, status: "PAUSED" });
  await eventually(async () => (await held()).length > 0);
  note("template paused", await awaitSilence(fixture, paused, Date.now()));
  const before_approval = await countReceived(fixture, paused);
  assert.ok(before_approval < recipients);
  await fixture.stub.control("POST", "template", { name: template_name, status: "APPROVED" });
  await fixture.setRate(fast_per_second);
  await fixture.awaitStatus(paused_id, "completed");
  assert.equal(await countReceived(fixture, paused), recipients);

  // Customers whose message is not sent yet opt out.
  await fixture.setRate(slow_per_second);
  const stopping = phonesOf(recipients, 20_000);
  const stopping_id = await fixture.createCampaign(stopping);
  await eventually(async () => (await countReceived(fixture, stopping)) > 50);
  const customers = stopping.filter((_, index) => index >= 300 && index < 990 && index % 14 === 0);
  const opt_outs = await Promise.all(
    customers.map(async (from) => {
      await fixture.stub.control("POST", "reply", { from, text: "STOP" });
      await eventually(async () => {
        const rows = await fixture.query("select from suppressions where phone = $1", [from]);
        return rows.length > 0;
      });
      return { from, at: Date.now() };
    }),
  );
  await fixture.setRate(fast_per_second);
  await fixture.awaitStatus(stopping_id, "completed");
  await fixture.awaitWebhooks();
  let latest_ms = -Infinity;
  for (const { from, at } of opt_outs)
    latest_ms = Math.max(latest_ms, await lastAfter(fixture, [from], at));
  note("opt-out", latest_ms);
  const { skipped = 0, read = 0 } = await fixture.states(stopping_id);
  assert.ok(skipped > 0, "some opted out before their message was sent");
  assert.equal(skipped + read, recipients);
  const optedOut = await fixture.query("select from chat_replies where opted_out");
  assert.equal(optedOut.length, customers.length);

  console.log(
    `last request after the command: ${figures.join(", ")}; ${never_sent} cancelled, ${skipped} of ${customers.length} skipped`,
  );
  await fixture.checkInvariants();
  assert.deepEqual(fixture.crashes(), []);
});
