import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatDriver, Report } from "../driver.ts";
import { failureOf, template_message } from "../../../../test/support/chat-driver-contract.ts";
import { openSandboxDriver } from "./open-sandbox-driver.ts";
import type { SandboxWebhook } from "./sandbox-webhook.ts";

const from = { phone_number_id: "sandbox-1", business_account_id: "sandbox-account" };

/** Time that a test moves: what is due runs, in the order of its times. */
function manualTimers() {
  let now_ms = 0;
  let planned: { at_ms: number; run: () => void }[] = [];
  return {
    waiting: () => planned.length,
    schedule(run: () => void, delay_ms: number) {
      const entry = { at_ms: now_ms + delay_ms, run };
      planned.push(entry);
      return () => void (planned = planned.filter((one) => one !== entry));
    },
    advance(ms: number) {
      const end_ms = now_ms + ms;
      for (;;) {
        const [next] = planned.toSorted((a, b) => a.at_ms - b.at_ms);
        if (next === undefined || next.at_ms > end_ms) break;
        planned = planned.filter((one) => one !== next);
        now_ms = next.at_ms;
        next.run();
      }
      now_ms = end_ms;
    },
  };
}

function openStanding() {
  const time = manualTimers();
  const webhooks: SandboxWebhook[] = [];
  const driver = openSandboxDriver({
    deliver: (webhook) => void webhooks.push(webhook),
    schedule: time.schedule,
  });
  const news = () =>
    webhooks
      .flatMap((webhook) => driver.readWebhook(JSON.parse(JSON.stringify(webhook))))
      .flatMap(({ reports }): readonly Report[] => reports)
      .map((report) => (report.kind === "status" ? report.status : report.kind));
  return { driver, time, webhooks, news };
}

function send(driver: ChatDriver, to: string, message_id = `m-${to}`) {
  return driver.send(from, { message_id, to, message: template_message, route: "standard" });
}

test("reports come within seconds, each at its time", async () => {
  const { driver, time, news } = openStanding();
  await send(driver, "919812345678");
  const after = (ms: number) => {
    time.advance(ms);
    return news().join(" ");
  };
  assert.equal(after(200), "");
  assert.equal(after(100), "sent");
  assert.equal(after(300), "sent delivered");
  assert.equal(after(1_000), "sent delivered read");
  assert.equal(after(10_000), "sent delivered read");
  await driver.close();
});

test("a number is steered by its last six digits alone, and those must be the whole code", async () => {
  const { driver, time, news } = openStanding();
  await send(driver, "777001919812345678");
  await send(driver, "91981277700");
  time.advance(10_000);
  assert.deepEqual(news(), ["sent", "sent", "delivered", "delivered", "read", "read"]);
  await driver.close();
});

test("an undeliverable message is accepted, and its only report is the failure", async () => {
  const { driver, time, webhooks, news } = openStanding();
  await send(driver, "919812777001");
  time.advance(10_000);
  assert.deepEqual(news(), ["failed"]);
  const [report] = webhooks[0]!.reports;
  assert.ok(report?.kind === "status");
  assert.equal(report.code, 131_026);
  await driver.close();
});

test("a throttled number takes every other message, each such number for itself", async () => {
  const { driver } = openStanding();
  for (let round = 0; round < 3; round += 1) {
    for (const to of ["919812777002", "919813777002"]) {
      const error = await failureOf(send(driver, to));
      assert.deepEqual([error.failure, error.code], ["throttled", 130_429]);
      assert.equal(error.retry_after_ms, 1_000);
    }
    for (const to of ["919812777002", "919813777002"]) await send(driver, to);
  }
  await driver.close();
});

test("thousands of messages share their timers and their webhooks", async () => {
  const { driver, time, webhooks, news } = openStanding();
  for (let index = 0; index < 5_000; index += 1) await send(driver, `9198${10_000_000 + index}`);
  assert.equal(time.waiting(), 1);
  time.advance(60);
  assert.ok(time.waiting() <= 5);
  time.advance(10_000);
  assert.equal(news().length, 15_000);
  assert.ok(webhooks.length <= 30);
  assert.ok(webhooks.every(({ reports }) => reports.length <= 500));
  assert.equal(time.waiting(), 0);
  await driver.close();
});

test("with too many reports to come it throttles, and takes messages again afterwards", async () => {
  const { driver, time } = openStanding();
  for (let index = 0; index < 200_000; index += 1) await send(driver, `9198${index}`, "m");
  assert.equal((await failureOf(send(driver, "919812345678"))).failure, "throttled");
  time.advance(10_000);
  await send(driver, "919812345678");
  await driver.close();
});

test("the numbers of two senders are reported on apart", async () => {
  const { driver, time, webhooks } = openStanding();
  await send(driver, "919812345678");
  const other = { phone_number_id: "sandbox-2", business_account_id: "other-account" };
  await driver.send(other, {
    message_id: "m-2",
    to: "919812345679",
    message: template_message,
    route: "standard",
  });
  time.advance(300);
  assert.deepEqual(
    webhooks.map(({ phone_number_id, business_account_id, reports }) => [
      phone_number_id,
      business_account_id,
      reports.length,
    ]),
    [
      ["sandbox-1", "sandbox-account", 1],
      ["sandbox-2", "other-account", 1],
    ],
  );
  await driver.close();
});

test("its close ends all that was to come", async () => {
  const { driver, time, webhooks } = openStanding();
  await send(driver, "919812345678");
  time.advance(300);
  const before = webhooks.length;
  await send(driver, "919812345679");
  await driver.close();
  assert.equal(time.waiting(), 0);
  time.advance(10_000);
  assert.equal(webhooks.length, before);
});

test("a template's name decides what becomes of it", async () => {
  const { driver } = openStanding();
  const draft = {
    language: "en_US",
    category: "MARKETING",
    parameter_format: "POSITIONAL",
    components: [{ type: "BODY", text: "Hello" }],
  } as const;
  const found: string[] = [];
  for (const name of ["offer", "pending_offer", "rejected_offer", "paused_offer"]) {
    const made = await driver.createTemplate("a", { ...draft, name });
    found.push(`${made.name} ${made.status} ${made.rejection_reason}`);
  }
  assert.deepEqual(found, [
    "offer APPROVED null",
    "pending_offer PENDING null",
    "rejected_offer REJECTED INVALID_FORMAT",
    "paused_offer PAUSED null",
  ]);
  assert.equal((await driver.listTemplates("a")).length, 4);
  assert.deepEqual(await driver.listTemplates("b"), []);
});
