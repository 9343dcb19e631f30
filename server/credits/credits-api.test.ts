import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import { operatorOf } from "../accounts/roles/grantor.ts";
import { grantCredits } from "./grant-credits.ts";
import { reserveCredits } from "./reserve-credits.ts";
import { startApi, type TestApi } from "../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  type TestAccount,
} from "../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;
let reservation_id: number;
const hour = (hours: number) => new Date(Date.UTC(2026, 0, 1, hours));

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  const { account_id } = account;
  const { actor } = operatorOf(account_id, "req_1");
  reservation_id = await api.app.db.query.transaction().execute(async (tx) => {
    await grantCredits(tx, actor, { kind: "chat", amount: 100, note: "Welcome" }, hour(1));
    await grantCredits(tx, actor, { kind: "call", amount: 30, note: null }, hour(2));
    const subject = "chat_campaign:17";
    return reserveCredits(tx, { account_id, kind: "chat", subject, amount: 40 }, hour(3));
  });
  await api.app.db.pool.query("select settle_credits($1, $2, 20, 5, 0, $3)", [
    account_id,
    reservation_id,
    hour(4),
  ]);
  await api.app.db.pool.query("select settle_credits($1, $2, 0, 0, 2, $3)", [
    account_id,
    reservation_id,
    hour(5),
  ]);
});
after(() => api.close());

const read = (token = account.token) => api.send("GET", "/api/v1/credits", { token });
const list = (query = "", token = account.token) =>
  api.send("GET", `/api/v1/credits/ledger${query}`, { token });
const movements = async (query: string) =>
  (await list(query)).body.data.map(
    ({ type, kind, amount }: { type: string; kind: string; amount: number }) =>
      `${type} ${amount} ${kind}`,
  );

test("credits show the available and the reserved amount of each kind", async () => {
  const { status, body } = await read();
  assert.equal(status, 200);
  assert.deepEqual(body, {
    chat: { available: 67, reserved: 15 },
    call: { available: 30, reserved: 0 },
  });
});

test("an account without any credit has zeros and an empty ledger", async () => {
  const other = await makeAccount(api.app);
  const nothing = { available: 0, reserved: 0 };
  assert.deepEqual((await read(other.token)).body, { chat: nothing, call: nothing });
  assert.deepEqual((await list("", other.token)).body, { data: [], next_cursor: null });
});

test("the ledger lists every transfer, newest first, in contiguous pages", async () => {
  const first = await list("?limit=4");
  assert.equal(first.status, 200);
  assert.deepEqual(first.body.data[3], {
    id: first.body.data[3].id,
    kind: "chat",
    type: "reserve",
    amount: 40,
    from: "available",
    to: "reserved",
    at: "2026-01-01T03:00:00.000Z",
    reservation_id,
    subject: "chat_campaign:17",
    note: null,
  });
  const second = await list(`?limit=4&cursor=${first.body.next_cursor}`);
  assert.equal(second.body.next_cursor, null);
  assert.deepEqual(second.body.data[1], {
    id: second.body.data[1].id,
    kind: "chat",
    type: "grant",
    amount: 100,
    from: "issued",
    to: "available",
    at: "2026-01-01T01:00:00.000Z",
    reservation_id: null,
    subject: null,
    note: "Welcome",
  });
  const shown = [...first.body.data, ...second.body.data].map(
    ({ type, from, to }) => `${type}: ${from} to ${to}`,
  );
  // The two transfers of one batch may be in either order.
  assert.deepEqual(
    [shown[0], ...shown.slice(1, 3).toSorted(), ...shown.slice(3)],
    [
      "refund: spent to available",
      "capture: reserved to spent",
      "release: reserved to available",
      "reserve: available to reserved",
      "grant: issued to available",
      "grant: issued to available",
    ],
  );
});

test("the ledger is filtered by kind, type, reservation and time, and by several at once", async () => {
  assert.deepEqual(await movements("?kind=call"), ["grant 30 call"]);
  assert.deepEqual(await movements("?type=capture"), ["capture 20 chat"]);
  assert.deepEqual(await movements("?type=grant&kind=chat"), ["grant 100 chat"]);
  assert.equal((await movements(`?reservation_id=${reservation_id}`)).length, 4);
  assert.deepEqual(await movements("?from=2026-01-01T02:00:00Z&to=2026-01-01T04:00:00Z"), [
    "reserve 40 chat",
    "grant 30 call",
  ]);
  assert.deepEqual(await movements("?reservation_id=9007199254740992"), []);
});

test("an export of the ledger contains what the list shows and is recorded in the audit trail", async () => {
  const answer = await list("/export?kind=chat");
  assert.equal(answer.status, 200, answer.text);
  const disposition = answer.headers.get("content-disposition");
  assert.equal(disposition, 'attachment; filename="ledger.csv"');
  const shown: Record<string, string | number | null>[] = (await list("?kind=chat")).body.data;
  const cells = shown.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, String(value ?? "")])),
  );
  assert.deepEqual(parse(answer.text, { columns: true }), cells);
  const entries = await api.app.db.query
    .selectFrom("audit_entries")
    .select("detail")
    .where("account_id", "=", account.account_id)
    .where("action", "=", "credit_ledger.exported")
    .execute();
  assert.deepEqual(entries, [{ detail: { filters: ["kind"] } }]);
});

test("reports every invalid filter", async () => {
  const times = await list("?from=yesterday&to=2026-02-30T00:00Z");
  assert.deepEqual(times.body.errors, [
    { field: "from", reason: "must be a time such as 2026-01-31T09:30:00Z" },
    { field: "to", reason: "must be a date that exists" },
  ]);
  for (const query of [
    "kind=sms",
    "type=gift",
    "reservation_id=x",
    "subject=1",
    "limit=0",
    "cursor=x",
  ]) {
    const answer = await list(`?${query}`);
    assert.equal(answer.status, 422, query);
    assert.equal(answer.body.errors[0].field, query.split("=")[0]);
  }
});

test("an account sees only its own credit, and only with credits.read", async () => {
  const other = await makeAccount(api.app, { features: [] });
  await makeCredits(api.app, other, { chat: 7 });
  assert.deepEqual((await read(other.token)).body.chat, { available: 7, reserved: 0 });
  const foreign = await list(`?reservation_id=${reservation_id}`, other.token);
  assert.deepEqual(foreign.body.data, []);
  const reader = await makeAgentToken(api.app, account, ["credits.read"]);
  const none = await makeAgentToken(api.app, account, ["account.read", "audit.read"]);
  for (const send of [read, (token: string) => list("", token)]) {
    assert.equal((await send(reader)).status, 200);
    assert.equal((await send(none)).status, 403);
    assert.equal((await send("trk_1_1_nonsense")).status, 401);
  }
});
