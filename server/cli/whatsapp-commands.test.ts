import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeAccount,
  makeCredits,
  unique,
  type TestAccount,
} from "../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import { makeChatCampaign, makeChatTemplate } from "../../test/support/chat-factory.ts";
import { openScriptedProvider } from "../../test/support/scripted-provider.ts";
import { test_secret_key } from "../../test/support/secrets.ts";
import { runCommandLine } from "./run-command-line.ts";

const provider = openScriptedProvider();
let api: TestApi;
let first: TestAccount;
let second: TestAccount;

before(async () => {
  api = await startApi({ chatDrivers: { whatsapp: provider.driver } });
  first = await makeAccount(api.app);
  second = await makeAccount(api.app);
});
after(() => api.close());

const run = (...words: string[]) =>
  runCommandLine(["whatsapp", ...words, "--json"], {
    DATABASE_URL: api.database_url,
    DATA_DIR: "/nonexistent",
    PORT: "0",
    TRUNKLINE_SECRET_KEY: test_secret_key,
  });

async function done(...words: string[]) {
  const ended = await run(...words);
  assert.equal(ended.code, 0, ended.stderr);
  return JSON.parse(ended.stdout);
}

/** A number's IDs at WhatsApp. */
type Ids = { readonly phone: string; readonly business: string };

const newIds = (business = unique("ba")): Ids => ({ phone: unique("pn"), business });

const bindWords = ({ account_id }: TestAccount, { phone, business }: Ids) => [
  "bind",
  String(account_id),
  "--name",
  "Shop",
  "--phone-number",
  "+91 98765 43210",
  "--phone-number-id",
  phone,
  "--business-account-id",
  business,
];
const bind = (account: TestAccount, ids: Ids) => done(...bindWords(account, ids));
const unbind = ({ account_id }: TestAccount, id: string) => done("unbind", String(account_id), id);

const send = (account: TestAccount, method: string, path: string, json?: unknown) =>
  api.send(method, `/api/v1/chat${path}`, {
    token: account.token,
    ...(json === undefined ? {} : { json }),
  });

const freeze = ({ account_id }: TestAccount, frozen_at: Date | null) =>
  api.app.db.pool.query("update accounts set frozen_at = $2 where account_id = $1", [
    account_id,
    frozen_at,
  ]);

test("an operator takes a number from a frozen account with campaigns, another account gets it, and the first keeps its history but cannot use it", async () => {
  const ids = newIds();
  const { id } = await bind(first, ids);
  const number = { id, provider_phone_number_id: ids.phone, business_account_id: ids.business };
  const template = await makeChatTemplate(api.app, first, number, { driver: "whatsapp" });
  await makeCredits(api.app, first, { chat: 10 });
  const recipients = [{ phone: "919876543211" }];
  const campaign = await makeChatCampaign(api.app, first, number, template, recipients);
  await freeze(first, new Date());
  assert.match((await run(...bindWords(second, ids))).stderr, /is already in use/);

  const { numbers, unfinished_campaigns } = await unbind(first, ids.phone);
  assert.deepEqual(
    [
      numbers.map((one: Record<string, unknown>) => [one["id"], one["active"]]),
      unfinished_campaigns,
    ],
    [[[id, false]], 1],
  );
  const bound = await bind(second, ids);
  assert.equal((await send(second, "POST", `/numbers/${bound.id}/sync`)).status, 200);
  await freeze(first, null);

  const read = await send(first, "GET", `/numbers/${id}`);
  assert.deepEqual([read.status, read.body.active], [200, false]);
  const history = await send(first, "GET", `/campaigns/${campaign}`);
  assert.deepEqual([history.status, history.body.chat_number_id], [200, id]);
  const template_draft = {
    chat_number_id: id,
    name: "order_update",
    language: "en",
    category: "UTILITY",
    components: [{ type: "BODY", text: "Your order is here" }],
  };
  for (const [method, path, json] of [
    ["PATCH", `/numbers/${id}`, { active: true }],
    ["POST", `/numbers/${id}/sync`, undefined],
    ["POST", "/templates/sync", { chat_number_id: id }],
    ["POST", "/templates", template_draft],
  ] as const) {
    const refused = await send(first, method, path, json);
    assert.equal(refused.status, 409, `${method} ${path}: ${refused.text}`);
    assert.match(refused.body.detail, /was taken from the account; an operator can add it again/);
  }
  const { account_id } = first;
  const { rows } = await api.app.db.pool.query(
    "select subject_id from audit_entries where account_id = $1 and action = 'chat_number.unbound'",
    [account_id],
  );
  assert.deepEqual(rows, [{ subject_id: String(id) }]);
  const again = await run("unbind", String(account_id), ids.phone);
  assert.equal(again.code, 1);
  assert.match(again.stderr, /Account \d+ has no WhatsApp number or business account with the ID/);
});

test("a number that an account gets back is the number that it was", async () => {
  const ids = newIds();
  const { id } = await bind(first, ids);
  await unbind(first, ids.phone);
  const back = await bind(first, ids);
  assert.deepEqual([back.id, back.active], [id, true]);
  assert.equal((await send(first, "POST", `/numbers/${id}/sync`)).status, 200);
  assert.match((await run(...bindWords(second, ids))).stderr, /is already in use/);
  assert.match((await run(...bindWords(first, ids))).stderr, /is already in use/);
});

test("a business account stays with the last of its numbers, and is taken with all of them", async () => {
  const one = newIds();
  const two = newIds(one.business);
  const three = newIds(one.business);
  const ids = [await bind(first, one), await bind(first, two), await bind(first, three)].map(
    ({ id }) => id,
  );
  await unbind(first, one.phone);
  const refused = await run(...bindWords(second, one));
  assert.match(refused.stderr, /business_account_id is already in use/);
  assert.doesNotMatch(refused.stderr, /provider_phone_number_id/);
  const { numbers } = await unbind(first, one.business);
  assert.deepEqual(
    numbers.map(({ id }: { id: number }) => id),
    ids.slice(1),
  );
  for (const taken of [one, two, three]) await bind(second, taken);
});

test("a WhatsApp ID of an account without a number is released too", async () => {
  const ids = newIds();
  const { id } = await bind(first, ids);
  await api.app.db.pool.query("delete from chat_numbers where account_id = $1 and id = $2", [
    first.account_id,
    id,
  ]);
  assert.deepEqual((await unbind(first, ids.phone)).numbers, []);
  await unbind(first, ids.business);
  await bind(second, ids);
});
