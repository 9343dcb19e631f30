import assert from "node:assert/strict";
import { test } from "node:test";
import { firstServed, nextCampaign } from "./choose-campaign.ts";
import type { CampaignWork, Sender } from "./sender.ts";

function workOf(id: number): CampaignWork {
  const latest = { held: false, queued: 1_000, next_due_at: null };
  return { id, latest, served: 0, dry: false } as unknown as CampaignWork;
}

const round = 20;

const senderOf = (...works: CampaignWork[]) =>
  ({
    app: { clock: { now: () => new Date() } },
    settings: { in_flight_max: 1_000 },
    number: {
      active: true,
      rate_per_second: round,
      time_zone: "UTC",
      chat_quiet_from: null,
      chat_quiet_to: null,
    },
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
    assert.ok(
      Math.abs(one.served - other.served) <= round + 10,
      `${one.served} and ${other.served}`,
    );
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
  assert.ok(Math.abs(one.served - before - 50) <= round);
});

test("a campaign is served a second's messages in a row", () => {
  const works = [workOf(1), workOf(2), workOf(3)];
  const sender = senderOf(...works);
  const order: number[] = [];
  for (let i = 0; i < 12; i++) {
    order.push(nextCampaign(sender)!.id);
    serve(sender, [round / 2]);
  }
  assert.deepEqual(order, [1, 1, 2, 2, 3, 3, 1, 1, 2, 2, 3, 3]);
});

test("the first batch of a new campaign comes before the rounds of 50 others, and further ones do not", () => {
  const works = Array.from({ length: 50 }, (_, i) => workOf(i + 1));
  const sender = senderOf(...works);
  serve(sender, [round, round / 2]);
  const added = { ...workOf(51), served: firstServed(sender) };
  sender.campaigns.set(added.id, added);
  assert.equal(nextCampaign(sender), added);
  serve(sender, [round / 2]);
  assert.equal(nextCampaign(sender), works[1], "which is in its round");
  serve(
    sender,
    Array.from({ length: 97 }, () => round / 2),
  );
  assert.ok(works.every((work) => work.served >= round));
});
