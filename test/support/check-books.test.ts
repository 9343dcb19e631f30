// The checks that drills go by must be able to fail.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  checkCampaignCounts,
  checkCampaignCredits,
  checkCampaigns,
  checkNothingDispatching,
  checkProviderIds,
} from "./check-books.ts";
import { makeScene, startSceneApi, type SceneApi } from "./chat-scene.ts";
import { eventually } from "./eventually.ts";

let shared: SceneApi;
before(async () => {
  shared = await startSceneApi();
});
after(() => shared.api.close());

const wrongs: [string, string, typeof checkCampaigns][] = [
  [
    "a count too many",
    "update chat_counts set queued = queued + 1 where slot = 'controls'",
    checkCampaignCounts,
  ],
  [
    "a recipient too few",
    "delete from chat_recipients where id = (select max(id) from chat_recipients)",
    checkCampaignCounts,
  ],
  ["another total", "update chat_campaigns set total = total + 1", checkCampaignCounts],
  [
    "a taken message without an id",
    "update chat_recipients set provider_message_id = null where id = (select max(id) from chat_recipients)",
    checkProviderIds,
  ],
  [
    "an id twice",
    "update chat_recipients set provider_message_id = 'wamid.same'",
    checkProviderIds,
  ],
  [
    "a charge too few",
    "update chat_recipients set charged = false where id = (select max(id) from chat_recipients)",
    checkCampaignCredits,
  ],
  [
    "a message that nobody sends",
    "update chat_recipients set state = 'dispatching' where id = (select max(id) from chat_recipients)",
    checkNothingDispatching,
  ],
];

test("the books of a campaign that was sent are in order, and each thing wrong with them is told", async (t) => {
  const scene = await makeScene(t, shared);
  const id = await scene.campaign(5);
  const senders = scene.startSenders();
  await eventually(async () => (await scene.ask("GET", `/${id}`)).body.status === "completed");
  await senders.stop();
  const { pool } = scene.app.db;
  await checkCampaigns(pool);
  for (const [what, wrong, check] of wrongs) {
    const client = await pool.connect();
    try {
      await client.query("begin");
      await client.query(wrong);
      await assert.rejects(check(client), assert.AssertionError, what);
      await assert.rejects(checkCampaigns(client), assert.AssertionError, what);
    } finally {
      await client.query("rollback");
      client.release();
    }
  }
});
