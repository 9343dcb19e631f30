import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatDriver, WebhookEvent } from "../driver.ts";
import { failureOf, template_message } from "../../../../test/support/chat-driver-contract.ts";
import { openSandboxDriver } from "./open-sandbox-driver.ts";
import type { SandboxWebhook } from "./sandbox-webhook.ts";

const from = { phone_number_id: "sandbox-1", business_account_id: "sandbox-account" };

/** A clock that the test advances; due timers run in order of time. */
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

function openSandbox() {
  const time = manualTimers();
  const webhooks: SandboxWebhook[] = [];
  const driver = openSandboxDriver({
    deliver: (webhook) => void webhooks.push(webhook),
    schedule: time.schedule,
  });
  const eventsSoFar = () =>
    webhooks
      .flatMap((webhook) => driver.readWebhook(JSON.parse(JSON.stringify(webhook))))
      .flatMap(({ events }): readonly WebhookEvent[] => events)
      .map((report) => (report.kind === "status" ? report.status : report.kind));
  return { driver, time, webhooks, eventsSoFar };
}

function send(driver: ChatDriver, to: string, message_id = `m-${to}`) {
  return driver.send(from, { message_id, to, message: template_message, route: "standard" });
}

test("reports each delivery status at its time, within seconds", async () => {
  const { driver, time, eventsSoFar } = openSandbox();
  await send(driver, "919812345678");
  const after = (ms: number) => {
    time.advance(ms);
    return eventsSoFar().join(" ");
  };
  assert.equal(after(200), "");
  assert.equal(after(100), "sent");
  assert.equal(after(300), "sent delivered");
  assert.equal(after(1_000), "sent delivered read");
  assert.equal(after(10_000), "sent delivered read");
  await driver.close();
});

test("only the last six digits of a number decide its outcome, and all six must match", async () => {
  const { driver, time, eventsSoFar } = openSandbox();
  await send(driver, "777001919812345678");
  await send(driver, "91981277700");
  time.advance(10_000);
  assert.deepEqual(eventsSoFar(), ["sent", "sent", "delivered", "delivered", "read", "read"]);
  await driver.close();
});

test("accepts an undeliverable message and reports only its failure", async () => {
  const { driver, time, webhooks, eventsSoFar } = openSandbox();
  await send(driver, "919812777001");
  time.advance(10_000);
  assert.deepEqual(eventsSoFar(), ["failed"]);
  const [report] = webhooks[0]!.reports;
  assert.ok(report?.kind === "status");
  assert.equal(report.code, 131_026);
  await driver.close();
});

test("a throttled number accepts every other message, independently of other numbers", async () => {
  const { driver } = openSandbox();
  for (let count = 0; count < 3; count += 1) {
    for (const to of ["919812777002", "919813777002"]) {
      const error = await failureOf(send(driver, to));
      assert.deepEqual([error.failure, error.code], ["throttled", 130_429]);
      assert.equal(error.retry_after_ms, 1_000);
    }
    for (const to of ["919812777002", "919813777002"]) await send(driver, to);
  }
  await driver.close();
});

test("thousands of messages share timers and webhooks", async () => {
  const { driver, time, webhooks, eventsSoFar } = openSandbox();
  for (let index = 0; index < 5_000; index += 1) await send(driver, `9198${10_000_000 + index}`);
  assert.equal(time.waiting(), 1);
  time.advance(60);
  assert.ok(time.waiting() <= 5);
  time.advance(10_000);
  assert.equal(eventsSoFar().length, 15_000);
  assert.ok(webhooks.length <= 30);
  assert.ok(webhooks.every(({ reports }) => reports.length <= 500));
  assert.equal(time.waiting(), 0);
  await driver.close();
});

test("throttles while too many delivery statuses are pending, then accepts messages again", async () => {
  const { driver, time } = openSandbox();
  for (let index = 0; index < 200_000; index += 1) await send(driver, `9198${index}`, "m");
  assert.equal((await failureOf(send(driver, "919812345678"))).failure, "throttled");
  time.advance(10_000);
  await send(driver, "919812345678");
  await driver.close();
});

test("reports the messages of two senders in separate webhooks", async () => {
  const { driver, time, webhooks } = openSandbox();
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

test("close cancels all pending delivery statuses", async () => {
  const { driver, time, webhooks } = openSandbox();
  await send(driver, "919812345678");
  time.advance(300);
  const before = webhooks.length;
  await send(driver, "919812345679");
  await driver.close();
  assert.equal(time.waiting(), 0);
  time.advance(10_000);
  assert.equal(webhooks.length, before);
});

test("the prefix of a template's name decides its status", async () => {
  const { driver } = openSandbox();
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
