import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { recordAudit } from "./record-audit.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  makeAccount,
  makeAgentToken,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import {
  makeCallingAccount,
  makeNode,
  makeTrunk,
} from "../../../test/support/telephony-factory.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  await api.app.db.query.transaction().execute(async (tx) => {
    for (let hour = 1; hour <= 5; hour++)
      await recordAudit(
        tx,
        {
          account_id: account.account_id,
          user_id: hour === 5 ? null : account.owner_id,
          token_id: null,
          request_id: `req_${hour}`,
        },
        {
          at: new Date(Date.UTC(2026, 0, 1, hour)),
          action: hour % 2 ? "role.created" : "role.deleted",
          subject_id: hour,
          detail: { hour },
        },
      );
  });
});
after(() => api.close());

const list = (query = "", token = account.token) =>
  api.send("GET", `/api/v1/audit${query}`, { token });
const hours = async (query: string) =>
  (await list(query)).body.data.map((entry: { detail: { hour: number } }) => entry.detail.hour);

test("lists the audit trail newest first, in consecutive pages", async () => {
  const first = await list("?limit=3");
  assert.equal(first.status, 200);
  assert.deepEqual(first.body.data[1], {
    id: first.body.data[1].id,
    at: "2026-01-01T04:00:00.000Z",
    user_id: account.owner_id,
    token_id: null,
    request_id: "req_4",
    address: null,
    user_agent: null,
    action: "role.deleted",
    subject_id: "4",
    detail: { hour: 4 },
  });
  assert.equal(first.body.data[0].user_id, null, "an operator at the command line");
  const second = await list(`?limit=3&cursor=${first.body.next_cursor}`);
  assert.equal(second.body.next_cursor, null);
  assert.deepEqual(
    [...first.body.data, ...second.body.data].map(({ subject_id }) => subject_id),
    ["5", "4", "3", "2", "1"],
  );
});

test("filters the audit trail by action, user, subject and time, and by several at once", async () => {
  assert.deepEqual(await hours("?action=role.deleted"), [4, 2]);
  assert.deepEqual(await hours(`?user_id=${account.owner_id}`), [4, 3, 2, 1]);
  assert.deepEqual(await hours("?subject_id=3"), [3]);
  assert.deepEqual(await hours("?from=2026-01-01T02:00:00Z&to=2026-01-01T04:00:00Z"), [3, 2]);
  assert.deepEqual(await hours("?from=2026-01-01 03:00&action=role.created"), [5, 3]);
  assert.deepEqual(await hours("?user_id=9007199254740992"), []);
});

test("a time without an offset is local to the account's zone", async () => {
  const zone = (time_zone: string) =>
    api.send("PATCH", "/api/v1/account", { token: account.token, json: { time_zone } });
  await zone("Asia/Kolkata");
  assert.deepEqual(await hours("?from=2026-01-01T09:30&to=2026-01-01T10:00"), [4]);
  await zone("UTC");
});

test("reports every invalid filter at once", async () => {
  const { status, body } = await list("?from=yesterday&to=2026-02-30T00:00Z");
  assert.equal(status, 422);
  assert.deepEqual(body.errors, [
    { field: "from", reason: "must be a time such as 2026-01-31T09:30:00Z" },
    { field: "to", reason: "must be a date that exists" },
  ]);
  for (const query of ["user_id=x", "actor=1", "limit=0", "cursor=x"]) {
    const answer = await list(`?${query}`);
    assert.equal(answer.status, 422, query);
    assert.equal(answer.body.errors[0].field, query.split("=")[0]);
  }
});

test("an account sees its own trail only, and only with audit.read", async () => {
  const other = await makeAccount(api.app);
  assert.deepEqual((await list("", other.token)).body.data, []);
  const reader = await makeAgentToken(api.app, account, ["audit.read"]);
  assert.equal((await list("", reader)).status, 200);
  const none = await makeAgentToken(api.app, account, ["account.read"]);
  assert.equal((await list("", none)).status, 403);
  assert.equal((await api.send("GET", "/api/v1/audit")).status, 401);
});

test("records the address and the program of each request, also of a click-to-call", async () => {
  const own = await makeCallingAccount(api.app);
  await makeTrunk(api.app, [await makeNode(api.app, { connected: true })]);
  const headers = { "user-agent": `dialer/2.0 ${"x".repeat(300)}` };
  const { token } = own;
  const calls = "/api/v1/clickToCallApis/clickToCall";
  const json = { to_number: "9876543210", from_number: "101" };
  const called = await api.send("POST", calls, { token, json, headers });
  assert.equal(called.status, 200, called.text);
  const role = { name: "Sales", permissions: [] };
  await api.send("POST", "/api/v1/roles", { token, json: role, headers });
  const { body } = await list("", token);
  assert.deepEqual(
    body.data
      .slice(0, 2)
      .map(({ action, address, user_agent }: Record<string, string>) => [
        action,
        address,
        user_agent,
      ]),
    ["role.created", "click_to_call.submitted"].map((action) => [
      action,
      "127.0.0.1",
      headers["user-agent"].slice(0, 200),
    ]),
  );
});
