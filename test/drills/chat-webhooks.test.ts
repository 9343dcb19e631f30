import assert from "node:assert/strict";
import { test } from "node:test";
import type { WebhookOrder } from "../support/provider-stub/settings.ts";
import { openChatDrillFixture, phonesOf } from "./chat-drill-fixture.ts";

const orders: readonly WebhookOrder[] = [
  "normal",
  "duplicated",
  "reordered",
  "late",
  "before_answer",
];
const recipients = 300;

test("webhooks that arrive twice, out of order, late or before the provider's response lead to the correct state of every message", async () => {
  await using fixture = await openChatDrillFixture({
    rate_per_second: 300,
    stub: { delay_ms: 30, late_ms: 2_000, batch_max: 20 },
  });
  await fixture.startWorker();
  for (const [index, order] of orders.entries()) {
    await fixture.stub.control("POST", "settings", { order });
    // Every tenth message is accepted and fails later.
    await fixture.stub.setErrors([{ kind: "fail_later", every: 10 }]);
    const campaign_id = await fixture.createCampaign(phonesOf(recipients, index * recipients));
    await fixture.awaitStatus(campaign_id, "completed");
    await fixture.awaitWebhooks();
    const expected = { read: recipients * 0.9, undelivered: recipients * 0.1 };
    assert.deepEqual(await fixture.states(campaign_id), expected, order);
    const { body } = await fixture.request("GET", `/api/v1/chat/campaigns/${campaign_id}`);
    const { sent_count, failed_count, pending_count, delivered_count, read_count, credits } = body;
    assert.deepEqual(
      { sent_count, failed_count, pending_count, delivered_count, read_count, credits },
      {
        sent_count: 270,
        failed_count: 30,
        pending_count: 0,
        delivered_count: 270,
        read_count: 270,
        credits: { reserved: 300, captured: 300, released: 0, refunded: 30 },
      },
      order,
    );
    await fixture.checkInvariants();
  }
  const { webhooks } = await fixture.stub.counts();
  console.log(
    `${orders.length} orders, ${webhooks.posted} posts, ${webhooks.given_up} given up, all applied`,
  );
  assert.equal(webhooks.given_up, 0);
  assert.deepEqual(fixture.crashes(), []);
});
