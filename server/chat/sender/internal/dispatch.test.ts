import assert from "node:assert/strict";
import { test } from "node:test";
import { ChatSendError, type ChatDriver, type Outgoing } from "../../../drivers/chat/driver.ts";
import { default_settings } from "../../../worker.ts";
import { openDispatch } from "./dispatch.ts";
import type { Sender } from "./sender.ts";

const now = new Date();
const marked = {
  campaign_id: 7,
  id: 1,
  dispatches: 1,
  phone: "919800000001",
  variables: null,
  error: null,
  attempts: 0,
};

/** Returns a sender with this driver, and a promise of its first result. */
function openSender(send: (outgoing: Outgoing) => Promise<unknown>) {
  const recorded = Promise.withResolvers<void>();
  const plan = { kind: "template", name: "offer", language: "en", body: [], buttons: [] };
  const sender = {
    app: { clock: { now: () => now }, random: () => 0.5 },
    lease: { account_id: 1, mayProceed: () => true },
    number: { provider_phone_number_id: "1", business_account_id: "2", rate_per_second: 80 },
    settings: default_settings,
    results: [],
    effects: [],
    deferred: [],
    campaigns: new Map([
      [7, { plan, marketing_required: false, latest: { template_id: 1, marketing: false } }],
    ]),
    driver: { send: (_from: unknown, outgoing: Outgoing) => send(outgoing) } as ChatDriver,
    wake: () => recorded.resolve(),
  } as unknown as Sender;
  return { sender, recorded: recorded.promise };
}

test("a message must begin within 0.8 s of the iteration that marked it, also while it waits for a connection", async () => {
  const sent: Outgoing[] = [];
  const { sender, recorded } = openSender(async (outgoing) => {
    sent.push(outgoing);
    return { provider_message_id: "wamid.1" };
  });
  // Ahead, so that no pause of this process makes it too late.
  const asked_at = performance.now() + 60_000;
  openDispatch(sender, () => {}).start([marked], asked_at);
  await recorded;
  assert.equal(sent[0]?.begin_by_ms, asked_at + 800);
});

test("a message that had no connection in time returns to the queue unchanged, and its number does not pause", async () => {
  const { sender, recorded } = openSender(() =>
    Promise.reject(new ChatSendError("late", "no connection")),
  );
  const pauses: number[] = [];
  openDispatch(sender, (ms) => pauses.push(ms)).start([marked], performance.now() + 60_000);
  await recorded;
  const { campaign_id, id, dispatches } = marked;
  assert.deepEqual(sender.results, [
    { campaign_id, id, dispatches, state: "deferred", due_at: now },
  ]);
  assert.deepEqual(pauses, []);
});
