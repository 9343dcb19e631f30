import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ChatSendError, type ChatDriver, type Outgoing } from "../drivers/chat/driver.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-makers.ts";
import { eventually } from "../../test/support/eventually.ts";
import { makeAccount, makeCredits } from "../../test/support/makers.ts";
import { default_settings } from "../worker.ts";
import { openSenders } from "./send-campaigns.ts";

const sent: Outgoing[] = [];
let answer: (outgoing: Outgoing) => Promise<{ provider_message_id: string }>;
const driver = {
  send: async (_from: unknown, outgoing: Outgoing) => {
    sent.push(outgoing);
    return answer(outgoing);
  },
  close: async () => {},
} as unknown as ChatDriver;

let api: TestApi;
before(async () => {
  api = await startApi({ chatDrivers: { sandbox: driver } });
});
after(() => api.close());

test("smoke: a campaign is sent and completes", async () => {
  answer = async ({ message_id }) => ({ provider_message_id: `wamid.${message_id}` });
  const account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 1000 });
  const number = await makeChatNumber(api.app, account);
  const template = await makeChatTemplate(api.app, account, number);
  const recipients = Array.from({ length: 300 }, (_, i) => ({
    phone: `9198${String(i).padStart(8, "0")}`,
  }));
  const id = await makeChatCampaign(api.app, account, number, template, recipients);
  const senders = openSenders(api.app, default_settings);
  await senders.startDue();
  await eventually(async () => {
    const row = await api.app.db.query
      .selectFrom("chat_campaigns")
      .select("state")
      .where("id", "=", id)
      .executeTakeFirstOrThrow();
    return row.state === "completed";
  });
  await senders.stop();
  assert.equal(sent.length, 300);
  void ChatSendError;
});
