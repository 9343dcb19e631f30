import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  campaigns_path,
  startChatApi,
  uniquePhone,
  type ChatApi,
} from "../../../test/contract/chat-api.ts";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import { linkBsuids } from "../../audience/suppressions/link-bsuids.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { repeatSkipDuplicates } from "./skip-duplicate-people.ts";
import { startApi, type Answer, type TestApi } from "../../../test/support/api.ts";
import { whileBalanceIsLocked } from "../../../test/support/balance-lock.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import { makeChatFlow, makeSuppression } from "../../../test/support/chat-factory.ts";
import { makeAgentToken, makeCredits, unique } from "../../../test/support/account-factory.ts";
import { revokeWhileCsvWaits } from "../../../test/support/revoke-while-csv-waits.ts";

let chat: ChatApi;
let twin: TestApi;

before(async () => {
  chat = await startChatApi();
  twin = await startApi({ databaseUrl: chat.api.database_url });
});
after(async () => {
  await checkLedger(chat.api.app.db.pool);
  await twin.close();
  await chat.api.close();
});

type Fields = Record<string, string | null>;

function formOf(of: ChatApi, csv: string | Buffer | null, fields: Fields = {}): FormData {
  const form = new FormData();
  const all: Fields = {
    name: "Spring sale",
    chat_number_id: String(of.number.id),
    template_id: String(of.template_id),
    ...fields,
  };
  const bytes = typeof csv === "string" ? csv : csv && new Uint8Array(csv);
  if (bytes !== null) form.set("file", new Blob([bytes], { type: "text/csv" }), "people.csv");
  for (const [name, text] of Object.entries(all)) if (text !== null) form.set(name, text);
  return form;
}

const upload = (
  csv: string | Buffer | null,
  fields: Fields = {},
  {
    of = chat,
    key = unique("key"),
    at = of.api,
    token = of.account.token,
  }: { of?: ChatApi; key?: string; at?: TestApi; token?: string } = {},
): Promise<Answer> =>
  at.send("POST", `${campaigns_path}/csv`, {
    token,
    raw: formOf(of, csv, fields),
    headers: { "idempotency-key": key },
  });

const lines = (...rows: string[]) => linesOf(rows);
const linesOf = (rows: readonly string[]) => rows.map((row) => `${row}\n`).join("");

test("every row of a file is a recipient, and every other column with a value a variable", async () => {
  const csv = lines(
    "phone_number,1,city,",
    '919870000001,Ada,"Pune, ""old"" \\ town",x',
    '"+91 98700-00002", Bob ,,',
    "",
    "919870000003",
  );
  const { status, body, text } = await upload(csv);
  assert.equal(status, 201, text);
  assert.deepEqual(Object.keys(body), Object.keys((await chat.create(chat.body())).body));
  assert.equal(body.status, "running");
  assert.equal(body.total_contacts, 3);
  assert.deepEqual(await chat.recipients(body.id), [
    {
      phone: "919870000001",
      variables: { "1": "Ada", city: 'Pune, "old" \\ town' },
      state: "queued",
    },
    { phone: "919870000002", variables: { "1": "Bob" }, state: "queued" },
    { phone: "919870000003", variables: null, state: "queued" },
  ]);
});

test("a row with more cells than the header is invalid, because its values may be shifted; blank cells are accepted", async () => {
  const { body, text } = await upload(
    lines(
      "phone_number,name,amount",
      "919870000035,Rao, Anil,1500",
      '919870000036,"Rao, Anil",1500, ,',
    ),
  );
  assert.equal(body.total_contacts, 1, text);
  const [recipient] = await chat.recipients(body.id);
  assert.deepEqual(recipient!.variables, { name: "Rao, Anil", amount: "1500" });
  const { rows } = await chat.api.app.db.pool.query(
    "select trimmed from chat_campaigns where account_id = $1 and id = $2",
    [chat.account.account_id, body.id],
  );
  assert.deepEqual(rows, [{ trimmed: { invalid: 1, duplicate: 0, blacklisted: 0 } }]);
});

type Sample = { readonly phone_number: string; readonly message: { readonly body: unknown } };

test("a preview of a file says what sending it would do, and creates nothing", async () => {
  const suppressed = uniquePhone();
  await makeSuppression(chat.api.app, chat.account, suppressed);
  const bsuid = "IN.1234567890123456";
  const csv = lines(
    "phone_number,1",
    suppressed,
    '919870000041,"Ada ""the first"" \\ tab\there"',
    "919870000041,twice",
    "no number",
    `${bsuid},Bo`,
  );
  const preview = (text: string | null, fields: Fields = {}) =>
    chat.api.send("POST", `${campaigns_path}/csv/preview`, {
      token: chat.account.token,
      raw: formOf(chat, text, fields),
    });
  const count = await chat.campaignCount();
  const { status, body, text } = await preview(csv);
  assert.equal(status, 200, text);
  assert.equal(await chat.campaignCount(), count);
  assert.deepEqual(
    body.samples.map(({ phone_number, message }: Sample) => [phone_number, message.body]),
    [
      ["919870000041", [{ text: 'Ada "the first" \\ tab here' }]],
      [bsuid, [{ text: "Bo" }]],
    ],
  );
  assert.deepEqual(body.trimmed, { invalid: 1, duplicate: 1, blacklisted: 1 });
  const created = await upload(csv);
  assert.equal(created.body.total_contacts, body.total_contacts);
  for (const [file, fields] of [
    [null, {}],
    [lines("who", "919870000041"), {}],
    [csv, { name: "", variables: '{"1":"nothing"}' }],
  ] as const)
    assert.deepEqual(
      failingFields(await preview(file, fields)),
      failingFields(await upload(file, fields)),
    );
});

test("numbers are trimmed and counted, and the rest is paid for", async () => {
  const suppressed = uniquePhone();
  await makeSuppression(chat.api.app, chat.account, suppressed);
  const { body } = await upload(
    lines("phone", "919870000011", "+919870000011", "x", "12", suppressed, "919870000012"),
  );
  assert.equal(body.total_contacts, 2);
  const { rows } = await chat.api.app.db.pool.query(
    `select c.trimmed, t.amount from chat_campaigns c
     join credit_transfers t on t.account_id = c.account_id and t.reservation_id = c.reservation_id
     where c.account_id = $1 and c.id = $2`,
    [chat.account.account_id, body.id],
  );
  assert.deepEqual(rows, [{ trimmed: { invalid: 2, duplicate: 1, blacklisted: 1 }, amount: 2 }]);
});

test("a person listed by phone and by a linked BSUID, or by two BSUIDs, gets one message and pays one credit", async (t) => {
  const of = await startChatApi({ credit: 4 });
  t.after(() => of.api.close());
  const { db } = of.api.app;
  const { account_id } = of.account;
  const links = [
    { bsuid: "BR.1", phone: "5511987654321" },
    { bsuid: "IN.2", phone: "919876543212" },
    { bsuid: "IN.3", phone: "919876543212" },
  ];
  await db.query.transaction().execute((tx) => linkBsuids(tx, account_id, links, new Date()));
  const people = ["BR.1", "551187654321", "IN.2", "IN.3"];
  const contacts = people.map((phone_number) => ({ phone_number, variables: { "1": "Ada" } }));
  const csv = lines("phone_number,1", ...people.map((person) => `${person},Ada`));
  const preview = await of.api.send("POST", `${campaigns_path}/preview`, {
    token: of.account.token,
    json: of.body({ contacts }),
  });
  const trimmed = { invalid: 0, duplicate: 2, blacklisted: 0 };
  assert.deepEqual([preview.body.total_contacts, preview.body.trimmed], [2, trimmed]);
  assert.deepEqual(preview.body.trimmed_samples, [
    { phone_number: "BR.1", reason: "duplicate" },
    { phone_number: "IN.3", reason: "duplicate" },
  ]);
  for (const { body, text } of [
    await of.create(of.body({ contacts })),
    await upload(csv, {}, { of }),
  ]) {
    assert.equal(body.total_contacts, 2, text);
    const { rows } = await db.pool.query(
      `select c.trimmed, array_agg(coalesce(r.phone, r.bsuid) order by r.id) as people
       from chat_campaigns c join chat_recipients r on r.account_id = c.account_id and r.campaign_id = c.id
       where c.account_id = $1 and c.id = $2 group by c.account_id, c.id`,
      [account_id, body.id],
    );
    assert.deepEqual(rows, [{ trimmed, people: ["551187654321", "IN.2"] }]);
  }
});

test("the numbers' column and the variables can be named, in a file of any usual form", async () => {
  const csv = Buffer.from("\ufeffMobil;Name;Ort\r\n919870000021;Zoë;Köln\r\n", "utf16le");
  const { status, body, text } = await upload(csv, {
    phone_column: " Mobil ",
    variables: '{"1":"Name","who":"Name"}',
  });
  assert.equal(status, 201, text);
  const [recipient] = await chat.recipients(body.id);
  assert.deepEqual(recipient!.variables, { "1": "Zoë", who: "Zoë" });
});

test("the other fields are those of the JSON body, with empty ones omitted", async () => {
  const flow_id = String(await makeChatFlow(chat.api.app, chat.account));
  const { status, body, text } = await upload(lines("phone", "919870000031"), {
    template_id: "",
    flow_id,
    scheduled_at: "2099-01-31T09:30:00Z",
    mm_lite: "TRUE",
  });
  assert.equal(status, 201, text);
  assert.equal(body.status, "scheduled");
  assert.equal(body.scheduled_at, "2099-01-31T09:30:00.000Z");
  const csv = lines("phone", "919870000031");
  assert.deepEqual(
    failingFields(
      await upload(csv, { name: "", chat_number_id: "x", mm_lite: "maybe", scheduled_at: "x" }),
    ),
    ["name", "chat_number_id", "mm_lite", "scheduled_at"],
  );
  assert.deepEqual(failingFields(await upload(csv, { contacts: "[]" })), ["contacts"]);
  assert.deepEqual(failingFields(await upload(csv, { template_id: "0" })), ["template_id"]);
  assertProblem(await upload(csv, { flow_id }), 400, "bad-request");
  assertProblem(await upload(csv, { template_id: null }), 400, "bad-request");
});

test("violations of the file are reported on its fields, together with the others", async () => {
  const fields = async (csv: string | null, more: Fields = {}) =>
    failingFields(await upload(csv, more));
  assert.deepEqual(await fields(null, { name: null }), ["name", "file"]);
  assert.deepEqual(await fields(""), ["file"]);
  assert.deepEqual(await fields("\0\0\0"), ["file"]);
  assert.deepEqual(await fields(lines("a,b", "1,2"), { name: null }), ["name", "phone_column"]);
  assert.deepEqual(await fields(lines("phone", "1"), { phone_column: "x" }), ["phone_column"]);
  assert.deepEqual(await fields(lines("phone,a,a", "1,2,3")), ["file"]);
  assert.deepEqual(await fields(lines("phone,phone", "1,2")), ["phone_column", "file"]);
  for (const variables of ["x", "[]", '{"a":1}', '{"\\u0000":"phone"}'])
    assert.deepEqual(await fields(lines("phone", "1"), { variables }), ["variables"]);
  assert.deepEqual(await fields(lines("phone", "1"), { variables: '{"a":"b"}' }), ["variables.a"]);
  assert.deepEqual(await fields(`phone,1\n919870000041,"x\n`), ["file"]);
});

test("a file without recipients is 400, a key is required, and insufficient credit is 409 with nothing created", async () => {
  const count = await chat.campaignCount();
  for (const csv of [lines("phone"), lines("phone", "x", "12")])
    assertProblem(await upload(csv), 400, "bad-request");
  const form = formOf(chat, lines("phone", "919870000051"));
  const { token } = chat.account;
  assertProblem(
    await chat.api.send("POST", `${campaigns_path}/csv`, { token, raw: form }),
    400,
    "bad-request",
  );
  assert.equal(await chat.campaignCount(), count);
  const poor = await startChatApi({ credit: 1 });
  const key = unique("key");
  const csv = lines("phone", "919870000051", "919870000052");
  assertProblem(await upload(csv, {}, { of: poor, key }), 409, "insufficient-credit");
  // A malformed row further down outranks the missing credit.
  assert.deepEqual(failingFields(await upload(`${csv}"x`, {}, { of: poor, key })), ["file"]);
  assert.equal(await poor.campaignCount(), 0);
  await makeCredits(poor.api.app, poor.account, { chat: 1 });
  assert.equal((await upload(csv, {}, { of: poor, key })).status, 201);
  await poor.api.close();
});

test("twins of one file make one campaign, and another file or field under the key is 422", async () => {
  const count = await chat.campaignCount();
  const key = unique("key");
  const csv = lines("phone", "919870000061");
  const answers = await Promise.all(
    [chat.api, twin, chat.api].map((at) => upload(csv, {}, { key, at })),
  );
  for (const answer of answers) {
    assert.equal(answer.status, 201, answer.text);
    assert.equal(answer.text, answers[0]!.text);
  }
  assert.equal((await upload(csv, {}, { key })).headers.get("idempotency-replayed"), "true");
  assert.equal(await chat.campaignCount(), count + 1);
  for (const other of [
    await upload(lines("phone", "919870000062"), {}, { key }),
    await upload(csv, { name: "Other" }, { key }),
  ])
    assert.deepEqual(failingFields(other), ["Idempotency-Key"]);
});

test("a file of 200,000 rows is one campaign within bounded memory", async () => {
  const rows = Array.from({ length: 200_000 }, (_, i) => `${919_871_000_000 + i},Person ${i},Pune`);
  const csv = Buffer.from(linesOf(["phone,1,city", ...rows]));
  globalThis.gc?.();
  const rss_before = process.memoryUsage.rss();
  let most = rss_before;
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage.rss())), 20);
  const { status, body, text } = await upload(csv);
  clearInterval(watch);
  assert.equal(status, 201, text);
  assert.equal(body.total_contacts, 200_000);
  const { rows: found } = await chat.api.app.db.pool.query(
    `select count(distinct phone) as count, min(phone) as first, max(phone) as last
     from chat_recipients where account_id = $1 and campaign_id = $2`,
    [chat.account.account_id, body.id],
  );
  assert.deepEqual(found, [{ count: 200_000, first: "919871000000", last: "919871199999" }]);
  const grown_mb = (most - rss_before) / 1_048_576;
  assert.ok(grown_mb < 300, `${grown_mb.toFixed()} MB above what the test itself holds`);
});

/** Creates a campaign to a person's phone and BSUID, whose link is recorded meanwhile; returns how to read the states. */
async function createWithLink(of: ChatApi) {
  const { db } = of.api.app;
  const { account_id } = of.account;
  const phone = uniquePhone();
  const contacts = [phone, "IN.9"].map((phone_number) => ({
    phone_number,
    variables: { "1": "Ada" },
  }));
  const { body, text } = await whileBalanceIsLocked(
    of.api.app,
    of.account,
    () => of.create(of.body({ contacts })),
    () =>
      db.query
        .transaction()
        .execute((tx) => linkBsuids(tx, account_id, [{ bsuid: "IN.9", phone }], new Date())),
  );
  assert.equal(body.total_contacts, 2, text);
  return async () => {
    const { rows } = await db.pool.query(
      "select coalesce(error, state) as state from chat_recipients where account_id = $1 and campaign_id = $2 order by id",
      [account_id, body.id],
    );
    return rows.map(({ state }) => state);
  };
}

test("a person listed by phone and by a BSUID gets one message, also if the link is recorded while the campaign is created", async (t) => {
  const of = await startChatApi({ credit: 2 });
  t.after(() => of.api.close());
  const states = await createWithLink(of);
  assert.deepEqual(await states(), ["queued", "duplicate"]);
  await checkLedger(of.api.app.db.pool);
});

test("a person listed by phone and by a BSUID gets one message, also if the process that created the campaign does not look for links after the commit", async (t) => {
  const of = await startChatApi({ credit: 2 });
  t.after(() => of.api.close());
  const { app } = of.api;
  await app.db.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$;
    create trigger refuse before update on chat_recipients for each row execute function refuse()`);
  const states = await createWithLink(of);
  assert.deepEqual(await states(), ["queued", "queued"]);
  await app.db.pool.query("drop function refuse cascade");
  const handlers = { "chat.skip_duplicates": repeatSkipDuplicates };
  assert.equal(await workJobs(app, handlers, new AbortController().signal), 1);
  assert.deepEqual(await states(), ["queued", "duplicate"]);
  await checkLedger(app.db.pool);
});

test("a file whose token was revoked while it waited for its account's others is 401 and creates nothing", async (t) => {
  const { api, account } = chat;
  const token = await makeAgentToken(api.app, account, ["chat.campaigns.create"]);
  const stored = await chat.campaignCount();
  const [late] = await revokeWhileCsvWaits(t, api, account, token, () => [
    upload(lines("phone_number", "919870000071"), {}, { token }),
  ]);
  assertProblem(late!, 401, "unauthorized");
  assert.equal(await chat.campaignCount(), stored);
});
