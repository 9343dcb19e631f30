import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import { sql } from "kysely";
import { startApi, type Answer, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { rowsRead } from "../../../test/support/rows-read.ts";
import type { App } from "../../engine/app.ts";
import { listReplies } from "./list-replies.ts";
import { makeContact } from "../../../test/support/crm-factory.ts";

let api: TestApi;
let account: TestAccount;
let chat_number_id: number;
let campaign_id: number;
let silent_campaign_id: number;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 10 });
  const number = await makeChatNumber(api.app, account);
  const template_id = await makeChatTemplate(api.app, account, number);
  const make = () =>
    makeChatCampaign(api.app, account, number, template_id, [{ phone: "919812345678" }]);
  chat_number_id = number.id;
  campaign_id = await make();
  silent_campaign_id = await make();
});
after(() => api.close());

const get = (path: string, of = account) => api.send("GET", path, { token: of.token });
const texts = ({ body }: Answer) =>
  (body.data as { text: string | null }[]).map(({ text }) => text);

const at = new Date("2026-11-20T10:00:00Z");
let kept = 0;
/** Keeps a reply as the applier does; returns its id. */
async function keep(reply: {
  text: string;
  phone?: string | null;
  bsuid?: string;
  campaign_id?: number;
  opted_out?: boolean;
}): Promise<number> {
  const { id } = await api.app.db.query
    .insertInto("chat_replies")
    .values({
      account_id: account.account_id,
      chat_number_id,
      provider_message_id: `wamid.${++kept}`,
      phone: "919812345678",
      type: "text",
      opted_out: false,
      received_at: at,
      ...reply,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

test("replies are listed newest first, of the account and of a campaign, page by page and narrowed", async () => {
  const id = await keep({ text: "yes", campaign_id });
  await keep({ text: "STOP", campaign_id, opted_out: true });
  await keep({ text: "who is this?", phone: "919898989898" });
  const all = await get("/api/v1/chat/replies");
  assert.equal(all.status, 200);
  assert.deepEqual(texts(all), ["who is this?", "STOP", "yes"]);
  assert.deepEqual(all.body.data[2], {
    id,
    chat_number_id,
    phone_number: "919812345678",
    type: "text",
    text: "yes",
    payload: null,
    campaign_id,
    recipient_id: null,
    opted_out: false,
    received_at: "2026-11-20T10:00:00.000Z",
    bsuid: null,
    answers: [],
    content: null,
    contact_name: null,
  });

  const first = await get("/api/v1/chat/replies?limit=2");
  assert.deepEqual(texts(first), ["who is this?", "STOP"]);
  const next = await get(`/api/v1/chat/replies?limit=2&cursor=${first.body.next_cursor}`);
  assert.deepEqual(texts(next), ["yes"]);
  assert.equal(next.body.next_cursor, null);

  const narrowed = async (path: string) => texts(await get(`/api/v1/chat/${path}`));
  assert.deepEqual(await narrowed("replies?phone_number=%2B91+9898-989898"), ["who is this?"]);
  assert.deepEqual(await narrowed("replies?opted_out=true"), ["STOP"]);
  assert.deepEqual(await narrowed("replies?opted_out=false"), ["who is this?", "yes"]);
  assert.deepEqual(await narrowed(`replies?campaign_id=${campaign_id}`), ["STOP", "yes"]);
  assert.deepEqual(await narrowed("replies?campaign_id=9007199254740993"), []);
  assert.deepEqual(await narrowed(`campaigns/${campaign_id}/replies`), ["STOP", "yes"]);
  assert.deepEqual(await narrowed(`campaigns/${campaign_id}/replies?opted_out=true`), ["STOP"]);
  assert.deepEqual(
    await narrowed(`campaigns/${campaign_id}/replies?phone_number=919898989898`),
    [],
  );
  assert.deepEqual(await narrowed(`campaigns/${silent_campaign_id}/replies`), []);
});

test("a query that makes no sense is 422 on each of its fields", async () => {
  for (const path of ["/api/v1/chat/replies", `/api/v1/chat/campaigns/${campaign_id}/replies`]) {
    const fieldsOf = async (query: string) => failingFields(await get(`${path}?${query}`));
    assert.deepEqual(await fieldsOf("phone_number=12"), ["phone_number"]);
    assert.deepEqual(await fieldsOf("bsuid=919812345678"), ["bsuid"]);
    assert.deepEqual(await fieldsOf("opted_out=maybe"), ["opted_out"]);
    assert.deepEqual(await fieldsOf("limit=201"), ["limit"]);
    assert.deepEqual(await fieldsOf("cursor=x"), ["cursor"]);
    assert.deepEqual(await fieldsOf("phone=919812345678"), ["phone"]);
  }
});

test("the replies of a customer without a phone number are found by the BSUID, without reading others", async () => {
  const bsuid = "IN.4004004004";
  for (const text of ["first", "second"]) await keep({ text, phone: null, bsuid });
  for (let i = 0; i < 300; i++) await keep({ text: "other", phone: null, bsuid: `IN.500${i}` });
  await sql`analyze chat_replies`.execute(api.app.db.query);
  const found = await get(`/api/v1/chat/replies?bsuid=${bsuid}`);
  assert.deepEqual(texts(found), ["second", "first"]);
  assert.deepEqual([found.body.data[0].bsuid, found.body.data[0].phone_number], [bsuid, null]);
  const list = (app: App) =>
    listReplies(app.db.query, account.account_id, { bsuid, opted_out: false }, { limit: 50 });
  const read = await rowsRead(api.app, list);
  assert.ok(read <= 4, `${read} rows`);
});

test("another account sees none of it, and its campaigns are unknown", async () => {
  const other = await makeAccount(api.app);
  await keep({ text: "hello", campaign_id });
  assert.deepEqual(texts(await get("/api/v1/chat/replies", other)), []);
  assert.equal((await get(`/api/v1/chat/campaigns/${campaign_id}/replies`, other)).status, 404);
  assert.equal((await get("/api/v1/chat/campaigns/0/replies")).status, 404);
});

test("an export of replies has what the list shows, what a spreadsheet would run inert, and is audited", async () => {
  await keep({ text: "=1+1", campaign_id: silent_campaign_id });
  const query = `?campaign_id=${silent_campaign_id}`;
  const answer = await get(`/api/v1/chat/replies/export${query}`);
  assert.equal(answer.status, 200, answer.text);
  const rows: Record<string, string>[] = parse(answer.text, { columns: true });
  const [row, ...more] = rows;
  const [{ contact_name, ...listed }] = (await get(`/api/v1/chat/replies${query}`)).body.data;
  assert.equal(contact_name, null);
  assert.deepEqual([more, Object.keys(row!)], [[], Object.keys(listed)]);
  assert.deepEqual(
    [row!["text"], row!["phone_number"], row!["opted_out"], row!["payload"]],
    ["'=1+1", "919812345678", "false", ""],
  );
  const entries = await api.app.db.query
    .selectFrom("audit_entries")
    .select("detail")
    .where("account_id", "=", account.account_id)
    .where("action", "=", "chat_replies.exported")
    .execute();
  assert.deepEqual(entries, [{ detail: { filters: ["campaign_id"] } }]);
});

test("a reply names its contact for those who may see contacts", async () => {
  const phone = "919845454545";
  await keep({ text: "hello", phone });
  await makeContact(api.app, account, { phone: phone.slice(2), name: "Asha" });
  const names = async (of = account.token) => {
    const path = `/api/v1/chat/replies?phone_number=${phone}`;
    const { body } = await api.send("GET", path, { token: of });
    return body.data.map(({ contact_name }: { contact_name: string | null }) => contact_name);
  };
  assert.deepEqual(await names(), ["Asha"]);
  const token = await makeAgentToken(api.app, account, ["chat.read"]);
  assert.deepEqual(await names(token), [null]);
});
