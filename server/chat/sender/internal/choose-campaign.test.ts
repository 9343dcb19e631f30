import assert from "node:assert/strict";
import { test } from "node:test";
import { nextCampaign } from "./choose-campaign.ts";
import type { CampaignWork, Sender } from "./sender.ts";

function workOf(id: number): CampaignWork {
  const latest = { held: false, queued: 1_000, next_due_at: null };
  return { id, latest, served: 0, dry: false } as unknown as CampaignWork;
}

const senderOf = (...works: CampaignWork[]) =>
  ({
    app: { clock: { now: () => new Date() } },
    number: { active: true, time_zone: "UTC", chat_quiet_from: null, chat_quiet_to: null },
    driver: {},
    campaigns: new Map(works.map((work) => [work.id, work])),
  }) as unknown as Sender;

/** Serves batches of these sizes in sequence. */
function serve(sender: Sender, sizes: readonly number[]): void {
  for (const size of sizes) nextCampaign(sender)!.served += size;
}

test("campaigns of one number are served equally many messages, whatever their batch sizes", () => {
  for (const sizes of [
    [10, 0],
    [10, 1],
    [1, 0, 10],
  ]) {
    const [one, other] = [workOf(1), workOf(2)];
    const sender = senderOf(one, other);
    for (let i = 0; i < 100; i++) serve(sender, sizes);
    assert.ok(Math.abs(one.served - other.served) <= 10, `${one.served} and ${other.served}`);
  }
});

test("a campaign that had nothing to send for a while does not make up for it", () => {
  const [one, other] = [workOf(1), workOf(2)];
  const sender = senderOf(one, other);
  other.dry = true;
  serve(
    sender,
    Array.from({ length: 100 }, () => 10),
  );
  other.dry = false;
  const before = one.served;
  serve(
    sender,
    Array.from({ length: 10 }, () => 10),
  );
  assert.ok(Math.abs(one.served - before - 50) <= 10);
});
