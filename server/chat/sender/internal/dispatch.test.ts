import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatDriver, Outgoing } from "../../../drivers/chat/driver.ts";
import { default_settings } from "../../../worker.ts";
import { openDispatch } from "./dispatch.ts";
import type { Sender } from "./sender.ts";

test("a message must begin within 0.8 s of the iteration that marked it, also while it waits for a connection", async () => {
  const sent: Outgoing[] = [];
  const driver = {
    send: async (_from: unknown, outgoing: Outgoing) => {
      sent.push(outgoing);
      return { provider_message_id: "wamid.1" };
    },
  } as unknown as ChatDriver;
  const recorded = Promise.withResolvers<void>();
  const plan = { kind: "template", name: "offer", language: "en", body: [], buttons: [] };
  const sender = {
    app: { clock: { now: () => new Date() }, random: () => 0.5 },
    lease: { account_id: 1, mayProceed: () => true },
    number: { provider_phone_number_id: "1", business_account_id: "2", rate_per_second: 80 },
    settings: default_settings,
    results: [],
    campaigns: new Map([[7, { plan, marketing: false }]]),
    driver,
    wake: () => recorded.resolve(),
  } as unknown as Sender;
  // Ahead, so that no pause of this process makes it too late.
  const asked_at = performance.now() + 60_000;
  const marked = {
    campaign_id: 7,
    id: 1,
    dispatches: 1,
    phone: "919800000001",
    variables: null,
    error: null,
    attempts: 0,
  };
  openDispatch(sender, () => {}).start([marked], asked_at);
  await recorded.promise;
  assert.equal(sent[0]?.begin_by_ms, asked_at + 800);
});
