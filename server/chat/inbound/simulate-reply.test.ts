import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeAccount,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { openTestWhatsapp } from "../../../test/support/chat-webhooks.ts";
import { openSandboxDriver } from "../../drivers/chat/sandbox/open-sandbox-driver.ts";
import { applyWebhooks } from "./apply-webhooks.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  const sandbox = openSandboxDriver({ deliver: () => {} });
  api = await startApi({ chatDrivers: { sandbox, whatsapp: openTestWhatsapp() } });
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 100 });
});
after(() => api.close());

const phone = "919812345678";

/** A campaign with one recipient; returns the path of its simulated replies. */
async function repliesPath(driver: "sandbox" | "whatsapp", message: string | null) {
  const number = await makeChatNumber(api.app, account, { driver });
  const template = await makeChatTemplate(api.app, account, number, { driver });
  const campaign = await makeChatCampaign(api.app, account, number, template, [{ phone }]);
  await api.app.db.query
    .updateTable("chat_recipients")
    .set({ provider_message_id: message })
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign)
    .execute();
  const { data } = (await ask("GET", `/api/v1/chat/campaigns/${campaign}/recipients`)).body;
  return `/api/v1/chat/campaigns/${campaign}/recipients/${data[0].id}/simulated-replies`;
}

const ask = (method: string, path: string, json?: unknown, headers?: Record<string, string>) =>
  api.send(method, path, { token: account.token, json, ...(headers ? { headers } : {}) });

async function replies() {
  await applyWebhooks(api.app, new AbortController().signal);
  const { body } = await ask("GET", "/api/v1/chat/replies");
  return body.data as { text: string; payload: string | null; type: string; opted_out: boolean }[];
}

test("an answer typed on the sandbox's phone takes the way of a provider's webhook, and STOP suppresses", async () => {
  const path = await repliesPath("sandbox", "wamid.sandbox-1");
  const key = { "idempotency-key": "one-stop" };
  for (let repetition = 0; repetition < 2; repetition++)
    assert.equal((await ask("POST", path, { text: "STOP" }, key)).status, 204);
  const found = await replies();
  assert.equal(found.length, 1);
  assert.partialDeepStrictEqual(found[0], { text: "STOP", type: "text", opted_out: true });
  const { body } = await ask("GET", `/api/v1/suppressions?phone_number=${phone}`);
  assert.equal(body.data.length, 1);
});

test("a pressed button brings its payload", async () => {
  const path = await repliesPath("sandbox", "wamid.sandbox-2");
  await ask("POST", path, { text: "Yes, please", payload: "yes" });
  const [first] = await replies();
  assert.partialDeepStrictEqual(first, { text: "Yes, please", type: "button", payload: "yes" });
});

test("only a sandbox customer of the account who has the message is answered for", async () => {
  const real = await ask("POST", await repliesPath("whatsapp", "wamid.1"), { text: "STOP" });
  assert.equal(real.status, 409);
  const early = await ask("POST", await repliesPath("sandbox", null), { text: "STOP" });
  assert.equal(early.status, 409);
  const other = await makeAccount(api.app);
  const path = await repliesPath("sandbox", "wamid.sandbox-3");
  const foreign = await api.send("POST", path, { token: other.token, json: { text: "STOP" } });
  assert.equal(foreign.status, 404);
});
