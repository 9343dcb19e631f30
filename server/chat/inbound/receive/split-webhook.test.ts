import assert from "node:assert/strict";
import { test } from "node:test";
import { openTestWhatsapp } from "../../../../test/support/chat-webhooks.ts";
import { splitWebhook } from "./split-webhook.ts";

test("the pieces of a webhook are about as long as the webhook, however long the ID and the time of its entry are", () => {
  const value = { metadata: { phone_number_id: "1" }, messages: [{}] };
  const changes = Array.from({ length: 100 }, () => ({ field: "messages", value }));
  const long = "9".repeat(50_000);
  for (const entry of [
    { id: long, changes },
    { id: "1", time: [long], changes },
  ]) {
    const body = JSON.stringify({ entry: [entry] });
    const { pieces } = splitWebhook(openTestWhatsapp(), body);
    assert.equal(pieces.length, 100);
    const characters = pieces.reduce((sum, piece) => sum + piece.body.length, 0);
    assert.ok(characters <= body.length, `${characters} characters of ${body.length}`);
  }
});
