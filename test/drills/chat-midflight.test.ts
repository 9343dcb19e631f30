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
/** Slow enough that a busy machine comes to say the word long before a campaign's end. */
const slow_per_second = 50;
const fast_per_second = 500;

/** The last message of a campaign, as the provider saw it, in milliseconds after `at`. */
async function lastAfter(
  fixture: ChatDrillFixture,
  phones: readonly string[],
  at: number,
): Promise<number> {
  const ours = new Set(phones);
  const last = (await fixture.stub.log()).findLast(({ to }) => ours.has(to));
  return last === undefined ? -Infinity : last.at - at;
}

async function seen(fixture: ChatDrillFixture, phones: readonly string[]): Promise<number> {
  const ours = new Set(phones);
  return (await fixture.stub.log()).filter(({ to }) => ours.has(to)).length;
}

/** Nothing more comes although a sender would have had the time: for two seconds. */
async function staysSilent(fixture: ChatDrillFixture, phones: readonly string[], at: number) {
  let last_ms = -Infinity;
  await eventually(async () => {
    last_ms = await lastAfter(fixture, phones, at);
    return Date.now() - at > Math.max(0, last_ms) + 2_000;
  });
  return last_ms;
}

test("after a cancel, a pause, a paused template or an opt-out no message of theirs begins any more", async () => {
  await using fixture = await openChatDrillFixture({ rate_per_second: fast_per_second });
  await fixture.startWorker();
  // I6 allows a second on a machine that has the time: told, for on a busy one it is more.
  const figures: string[] = [];
  const note = (what: string, last_ms: number) => figures.push(`${what} ${last_ms} ms`);

  // So slow that every slot is taken, and marked messages wait for one.
  await fixture.stub.pull("POST", "settings", { delay_ms: 3_500 });
  const cancelled = phonesOf(recipients, 0);
  const cancelled_id = await fixture.createCampaign(cancelled);
  await eventually(async () => (await seen(fixture, cancelled)) >= 250);
  await fixture.request("POST", `${campaigns_path}/${cancelled_id}/cancel`);
  note("cancel", await staysSilent(fixture, cancelled, Date.now()));
  await eventually(async () => {
    const states = await fixture.states(cancelled_id);
    return !states["queued"] && !states["deferred"] && !states["dispatching"];
  });
  const { cancelled: never_sent = 0 } = await fixture.states(cancelled_id);
  assert.ok(never_sent > 0);
  assert.equal(never_sent + (await seen(fixture, cancelled)), recipients);

  await fixture.stub.pull("POST", "settings", { delay_ms: 50 });
  await fixture.setRate(slow_per_second);
  const paused = phonesOf(recipients, 10_000);
  const paused_id = await fixture.createCampaign(paused);
  await eventually(async () => (await seen(fixture, paused)) > 50);
  await fixture.request("POST", `${campaigns_path}/${paused_id}/pause`);
  note("pause", await staysSilent(fixture, paused, Date.now()));
  const before_resume = await seen(fixture, paused);
  assert.ok(before_resume < recipients);
  await fixture.request("POST", `${campaigns_path}/${paused_id}/resume`);
  await eventually(async () => (await seen(fixture, paused)) > before_resume + 50);

  // The same campaign, its template held by the provider's own webhook.
  const held = () =>
    fixture.ask("select from chat_holds where scope = 'template' and reason = 'template_paused'");
  await fixture.stub.pull("POST", "template", { name: template_name, status: "PAUSED" });
  await eventually(async () => (await held()).length > 0);
  note("template paused", await staysSilent(fixture, paused, Date.now()));
  const before_approval = await seen(fixture, paused);
  assert.ok(before_approval < recipients);
  await fixture.stub.pull("POST", "template", { name: template_name, status: "APPROVED" });
  await fixture.setRate(fast_per_second);
  await fixture.awaitStatus(paused_id, "completed");
  assert.equal(await seen(fixture, paused), recipients);

  // Customers whose turn is still to come ask for an end.
  await fixture.setRate(slow_per_second);
  const stopping = phonesOf(recipients, 20_000);
  const stopping_id = await fixture.createCampaign(stopping);
  await eventually(async () => (await seen(fixture, stopping)) > 50);
  const customers = stopping.filter((_, index) => index >= 300 && index < 990 && index % 14 === 0);
  const asked = await Promise.all(
    customers.map(async (from) => {
      await fixture.stub.pull("POST", "reply", { from, text: "STOP" });
      await eventually(async () => {
        const rows = await fixture.ask("select from suppressions where phone = $1", [from]);
        return rows.length > 0;
      });
      return { from, at: Date.now() };
    }),
  );
  await fixture.setRate(fast_per_second);
  await fixture.awaitStatus(stopping_id, "completed");
  await fixture.awaitReports();
  let latest_ms = -Infinity;
  for (const { from, at } of asked)
    latest_ms = Math.max(latest_ms, await lastAfter(fixture, [from], at));
  note("opt-out", latest_ms);
  const { skipped = 0, read = 0 } = await fixture.states(stopping_id);
  assert.ok(skipped > 0, "some asked before their turn");
  assert.equal(skipped + read, recipients);
  const optedOut = await fixture.ask("select from chat_replies where opted_out");
  assert.equal(optedOut.length, customers.length);

  console.log(
    `last request after the word: ${figures.join(", ")}; ${never_sent} cancelled, ${skipped} of ${customers.length} skipped`,
  );
  await fixture.checkBooks();
  assert.deepEqual(fixture.casualties(), []);
});
