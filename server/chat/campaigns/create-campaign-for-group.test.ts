import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  campaigns_path,
  startChatApi,
  uniquePhone,
  type ChatApi,
} from "../../../test/contract/chat-api.ts";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { checkLedger } from "../../../test/support/check-invariants.ts";
import { makeSuppression } from "../../../test/support/chat-factory.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";

let chat: ChatApi;

before(async () => {
  chat = await startChatApi();
});
after(async () => {
  await checkLedger(chat.api.app.db.pool);
  await chat.api.close();
});

type Member = { phone: string; variables?: Record<string, string> };

async function makeGroup(
  { account_id }: Pick<TestAccount, "account_id">,
  members: readonly Member[],
): Promise<number> {
  const { db, clock } = chat.api.app;
  const created_at = clock.now();
  const { id: group_id } = await db.query
    .insertInto("groups")
    .values({ account_id, name: unique("group"), created_at, updated_at: created_at })
    .returning("id")
    .executeTakeFirstOrThrow();
  await db.pool.query(
    `insert into group_members (account_id, group_id, phone_key, phone, variables, created_at)
     select $1, $2, phone, phone, coalesce(variables, '{}'), $4 from jsonb_to_recordset($3) as m (phone text, variables jsonb)`,
    [account_id, group_id, JSON.stringify(members), created_at],
  );
  return group_id;
}

const create = (json: Record<string, unknown>, of = chat, key = unique("key")) => {
  const { contacts: _, ...head } = of.body(json);
  return of.api.send("POST", `${campaigns_path}/group`, {
    token: of.account.token,
    json: head,
    headers: { "idempotency-key": key },
  });
};

test("the members of a group are the recipients, each with their variables; its id may be a string", async () => {
  const suppressed = uniquePhone();
  await makeSuppression(chat.api.app, chat.account, suppressed);
  const group_id = await makeGroup(chat.account, [
    { phone: "919880000002", variables: { "1": "Bob", b: "\\", a: "x" } },
    { phone: "919880000001" },
    { phone: suppressed },
  ]);
  for (const id of [group_id, String(group_id)]) {
    const { status, body, text } = await create({ group_id: id });
    assert.equal(status, 201, text);
    assert.equal(body.total_contacts, 2);
    assert.deepEqual(await chat.recipients(body.id), [
      { phone: "919880000001", variables: null, state: "queued" },
      { phone: "919880000002", variables: { "1": "Bob", b: "\\", a: "x" }, state: "queued" },
    ]);
  }
});

test("a large group is one campaign, too", async () => {
  const members = Array.from({ length: 12_000 }, (_, i) => ({
    phone: String(919_881_000_000 + i),
    variables: { "1": `Person ${i}` },
  }));
  const { status, body, text } = await create({ group_id: await makeGroup(chat.account, members) });
  assert.equal(status, 201, text);
  assert.equal(body.total_contacts, 12_000);
  const recipients = await chat.recipients(body.id);
  assert.deepEqual(
    recipients.map(({ phone, variables }) => ({ phone, variables })),
    members,
  );
});

test("a group that is unknown, foreign or no id is 422 on group_id, with the other fields", async () => {
  const foreign = await makeGroup(await makeAccount(chat.api.app), [{ phone: uniquePhone() }]);
  for (const group_id of [
    undefined,
    null,
    "x",
    "",
    1.5,
    0,
    2 ** 60,
    "9999999999999999999",
    foreign,
  ])
    assert.deepEqual(failingFields(await create({ group_id })), ["group_id"], String(group_id));
  assert.deepEqual(
    failingFields(await create({ group_id: 0, chat_number_id: 0, template_id: 0 })),
    ["chat_number_id", "template_id", "group_id"],
  );
  const shape = await create({ group_id: "x", name: 1, scheduled_at: "x", contacts: undefined });
  assert.deepEqual(failingFields(shape), ["name", "group_id", "scheduled_at"]);
});

test("an empty group, or one without valid recipients, is 400; insufficient credit is 409", async () => {
  const suppressed = uniquePhone();
  await makeSuppression(chat.api.app, chat.account, suppressed);
  for (const members of [[], [{ phone: suppressed }]])
    assertProblem(
      await create({ group_id: await makeGroup(chat.account, members) }),
      400,
      "bad-request",
    );
  const poor = await startChatApi({ credit: 1, databaseUrl: chat.api.database_url });
  const two = [{ phone: uniquePhone() }, { phone: uniquePhone() }];
  const group_id = await makeGroup(poor.account, two);
  assertProblem(await create({ group_id }, poor), 409, "insufficient-credit");
  const many = Array.from({ length: 6_000 }, (_, i) => ({ phone: String(919_882_000_000 + i) }));
  const large = await makeGroup(poor.account, many);
  assertProblem(await create({ group_id: large }, poor), 409, "insufficient-credit");
  assert.equal(await poor.campaignCount(), 0);
  await poor.api.close();
});

test("a key is required, and repeated it makes no second campaign", async () => {
  const group_id = await makeGroup(chat.account, [{ phone: uniquePhone() }]);
  assertProblem(await create({ group_id }, chat, ""), 400, "bad-request");
  const key = unique("key");
  const first = await create({ group_id }, chat, key);
  const again = await create({ group_id }, chat, key);
  assert.equal(again.text, first.text);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.ok(again.headers.has("ratelimit-limit"));
});

test("a preview of a campaign for a group says what its creation would do, and creates nothing", async () => {
  const suppressed = uniquePhone();
  await makeSuppression(chat.api.app, chat.account, suppressed);
  const group_id = await makeGroup(chat.account, [
    { phone: "919890000001", variables: { "1": "Ada" } },
    { phone: "919890000002" },
    { phone: suppressed },
  ]);
  const preview = (json: Record<string, unknown>) => {
    const { contacts: _, ...head } = chat.body(json);
    const { token } = chat.account;
    return chat.api.send("POST", `${campaigns_path}/group/preview`, { token, json: head });
  };
  const count = await chat.campaignCount();
  const { status, body, text } = await preview({ group_id });
  assert.equal(status, 200, text);
  assert.equal(body.total_contacts, 2);
  assert.deepEqual(body.trimmed, { invalid: 0, duplicate: 0, blacklisted: 1 });
  assert.equal(body.credits.needed, 2);
  assert.equal(body.sample.phone_number, "919890000001");
  assert.deepEqual(body.sample.message.body, [{ text: "Ada" }]);
  assert.equal(await chat.campaignCount(), count);
  const foreign = await makeGroup(await makeAccount(chat.api.app), [{ phone: uniquePhone() }]);
  assert.deepEqual(failingFields(await preview({ group_id: foreign, template_id: 0 })), [
    "template_id",
    "group_id",
  ]);
  assertProblem(await preview({ group_id: await makeGroup(chat.account, []) }), 400, "bad-request");
});
