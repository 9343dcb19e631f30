import assert from "node:assert/strict";
import { test } from "node:test";
import type { Refusal } from "../../lib/errors.ts";
import { prepareCampaign } from "./prepare-campaign.ts";

function largeBody(): Buffer {
  const contacts = Array.from({ length: 10_000 }, (_, i) => ({
    phone_number: `9198${String(i).padStart(8, "0")}`,
  }));
  return Buffer.from(JSON.stringify({ name: "Spring", contacts }));
}

test("large bodies of one account are refused beyond its share, and those of another account are read", async () => {
  const prepare = async (id: number) => {
    try {
      const account = { id, chat_valid_numbers_only: false };
      return (await prepareCampaign(largeBody(), account)).sent;
    } catch (error) {
      return (error as Refusal).type;
    }
  };
  // Each is admitted or refused at once, before any thread has started.
  const answers = await Promise.all([1, 1, 1, 1, 1, 1, 1, 2].map(prepare));
  const own = [...Array<number>(5).fill(10_000), "unavailable", "unavailable"];
  assert.deepEqual(answers, [...own, 10_000]);
});
