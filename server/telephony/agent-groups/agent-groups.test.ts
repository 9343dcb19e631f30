import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { makeExtension } from "../../../test/support/telephony-factory.ts";
import { deleteExtension } from "../extensions/delete-extension.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeAccount,
  makeAgentToken,
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const request = (method: string, under: string, json?: unknown, of: { token: string } = account) =>
  api.send(method, `/api/v1/agent-groups${under}`, { token: of.token, json });
const makeGroup = async () =>
  (await request("POST", "", { name: unique("agents") })).body.id as number;
const add = (group: number, member: unknown) => request("POST", `/${group}/members`, member);

type Member = { id: number; number: string; position: number };
const membersOf = async (group: number, query = "") =>
  (await request("GET", `/${group}/members?${query}`)).body.data as Member[];
const orderOf = async (group: number) =>
  (await membersOf(group)).map(({ number, position }) => [number, position]);

test("an agent group is created, read, listed, renamed and deleted with its members", async () => {
  const name = unique("agents");
  const created = await request("POST", "", { name });
  assert.equal(created.status, 201, created.text);
  const { id } = created.body;
  assert.deepEqual(
    { ...created.body, name, members_count: 0, updated_at: created.body.created_at },
    created.body,
  );
  assert.deepEqual((await request("GET", `/${id}`)).body, created.body);
  assert.deepEqual((await request("GET", "?limit=200")).body.data.at(-1), created.body);
  assert.equal((await request("PATCH", `/${id}`, { name: `${name}!` })).body.name, `${name}!`);
  await add(id, { number: "201" });
  assert.equal((await request("GET", `/${id}`)).body.members_count, 1);
  assert.equal((await request("DELETE", `/${id}`)).status, 204);
  for (const [method, under] of [
    ["GET", `/${id}`],
    ["DELETE", `/${id}`],
    ["GET", `/${id}/members`],
  ] as const)
    assert.equal((await request(method, under)).status, 404, `${method} ${under}`);
});

test("a group's name is unique, and every invalid field is reported", async () => {
  const name = unique("agents");
  await request("POST", "", { name });
  const id = await makeGroup();
  const taken = [{ field: "name", reason: "is already the name of an agent group" }];
  assert.deepEqual((await request("POST", "", { name })).body.errors, taken);
  assert.deepEqual((await request("PATCH", `/${id}`, { name })).body.errors, taken);
  for (const [json, fields] of [
    [{}, ["name"]],
    [{ name: " " }, ["name"]],
    [{ name: "n", members: [] }, ["members"]],
  ] as const)
    assert.deepEqual(failingFields(await request("POST", "", json)), fields);
});

test("members are extensions and phone numbers, each once, at their positions", async () => {
  const id = await makeGroup();
  await add(id, { number: "201" });
  await add(id, { number: "9876543210" });
  const third = await add(id, { number: "+1 415 555 2671", position: 1 });
  assert.deepEqual(
    {
      ...third.body,
      number: "14155552671",
      position: 1,
      busy: false,
      away_since: null,
      last_call_ended_at: null,
    },
    third.body,
  );
  await add(id, { number: "202", position: 200 });
  assert.deepEqual(await orderOf(id), [
    ["14155552671", 1],
    ["201", 2],
    ["919876543210", 3],
    ["202", 4],
  ]);
  for (const number of ["201", "+91 98765 43210"])
    assert.deepEqual((await add(id, { number })).body.errors, [
      { field: "number", reason: "is already a member of the group" },
    ]);
});

test("a member moves to another position, and members behind a removed one move up", async () => {
  const id = await makeGroup();
  for (const number of ["201", "202", "203", "204"]) await add(id, { number });
  const members = await membersOf(id);
  const move = (i: number, position: number) =>
    request("PATCH", `/${id}/members/${members[i]!.id}`, { position });
  assert.equal((await move(3, 1)).body.position, 1);
  assert.equal((await move(0, 200)).body.position, 4);
  assert.deepEqual(await orderOf(id), [
    ["204", 1],
    ["202", 2],
    ["203", 3],
    ["201", 4],
  ]);
  assert.equal((await request("DELETE", `/${id}/members/${members[1]!.id}`)).status, 204);
  assert.equal((await request("DELETE", `/${id}/members/${members[1]!.id}`)).status, 404);
  assert.equal((await move(1, 1)).status, 404);
  assert.deepEqual(await orderOf(id), [
    ["204", 1],
    ["203", 2],
    ["201", 3],
  ]);
});

test("pages of members return every member once", async () => {
  const id = await makeGroup();
  for (const number of ["201", "202", "203"]) await add(id, { number, position: 1 });
  const first = (await request("GET", `/${id}/members?limit=2`)).body;
  const second = (await request("GET", `/${id}/members?limit=2&cursor=${first.next_cursor}`)).body;
  assert.deepEqual(
    [...first.data, ...second.data].map(({ number }: Member) => number),
    ["203", "202", "201"],
  );
  assert.equal(second.next_cursor, null);
  assert.deepEqual(failingFields(await request("GET", `/${id}/members?cursor=x`)), ["cursor"]);
});

test("members that are added concurrently get distinct positions", async () => {
  const id = await makeGroup();
  const numbers = Array.from({ length: 12 }, (_, i) => String(300 + i));
  const answers = await Promise.all(numbers.map((number) => add(id, { number, position: 1 })));
  for (const { status, text } of answers) assert.equal(status, 201, text);
  assert.deepEqual(
    (await membersOf(id)).map(({ position }) => position),
    numbers.map((_, i) => i + 1),
  );
});

test("a group may have at most 200 members", async () => {
  const id = await makeGroup();
  const { account_id } = account;
  await api.app.db.query
    .insertInto("agent_group_members")
    .values(
      Array.from({ length: 200 }, (_, i) => ({
        account_id,
        group_id: id,
        number: String(1_000 + i),
        position: i + 1,
        created_at: new Date(),
      })),
    )
    .execute();
  const refused = await add(id, { number: "201" });
  assert.deepEqual([refused.status, refused.body.type], [409, "conflict"]);
});

test("every invalid field of a member is reported", async () => {
  const id = await makeGroup();
  for (const [json, fields] of [
    [{}, ["number"]],
    [{ number: 201 }, ["number"]],
    [{ number: "1" }, ["number"]],
    [{ number: "12345678" }, ["number"]],
    [{ number: "phone" }, ["number"]],
    [{ number: "201", position: 0 }, ["position"]],
    [{ number: "x", position: 201 }, ["position", "number"]],
    [{ number: "201", name: "Phone" }, ["name"]],
  ] as const)
    assert.deepEqual(failingFields(await add(id, json)), fields, JSON.stringify(json));
  assert.deepEqual(await membersOf(id), []);
});

test("a member is busy during a call, and shows the end of its last call", async () => {
  const id = await makeGroup();
  await add(id, { number: "281" });
  await add(id, { number: "282" });
  const ended_at = new Date("2026-01-02T03:04:05Z");
  await makeLegs([
    {
      number: "281",
      state: "ended",
      initiated_at: new Date(ended_at.getTime() - 60_000),
      ended_at,
    },
    { number: "281", state: "answered", initiated_at: new Date(), ended_at: null },
  ]);
  const members = (await request("GET", `/${id}/members`)).body.data;
  assert.deepEqual(
    members.map(({ busy, last_call_ended_at }: Record<string, unknown>) => [
      busy,
      last_call_ended_at,
    ]),
    [
      [true, ended_at.toISOString()],
      [false, null],
    ],
  );
});

test("an agent is away in every group of the account, by a manager or by themselves, until back or deleted", async () => {
  const [one, two] = [await makeGroup(), await makeGroup()];
  const put = (path: string, json: unknown, of: { token: string } = account) =>
    api.send("PUT", `/api/v1/${path}`, { token: of.token, json });
  const away = async (group: number) =>
    (await request("GET", `/${group}/members`)).body.data.map(
      ({ number, away_since }: Record<string, unknown>) => [number, away_since !== null],
    );
  const made = await api.send("POST", "/api/v1/extensions", {
    token: account.token,
    json: { extension: "291", name: "Asha", user_id: account.owner_id },
  });
  for (const id of [one, two]) {
    await add(id, { number: "291" });
    await add(id, { number: "9876500291" });
  }
  assert.equal((await put("agent-availability/919876500291", { away: true })).status, 200);
  for (const id of [one, two])
    assert.deepEqual(await away(id), [
      ["291", false],
      ["919876500291", true],
    ]);
  assert.equal((await put("agent-availability/919876500291", { away: false })).status, 200);
  assert.equal((await put("agent-availability/919876500292", { away: true })).status, 404);
  const own = await put("me/availability", { away: true });
  assert.equal(own.status, 200, own.text);
  const me = (await api.send("GET", "/api/v1/me", { token: account.token })).body;
  assert.deepEqual([me.user.agent_numbers, me.user.away_since], [["291"], own.body.away_since]);
  assert.deepEqual(await away(two), [
    ["291", true],
    ["919876500291", false],
  ]);
  // A new extension with the number of a deleted one is another agent.
  await api.send("DELETE", `/api/v1/extensions/${made.body.id}`, { token: account.token });
  await add(one, { number: "291" });
  assert.deepEqual((await away(one)).at(-1), ["291", false]);
  const stranger = await makeAccount(api.app);
  assert.deepEqual(failingFields(await put("me/availability", { away: true }, stranger)), ["away"]);
});

test("changes of groups and members are audited, without numbers", async () => {
  const own = await makeAccount(api.app);
  const { id } = (await request("POST", "", { name: "Support" }, own)).body;
  const member = await request("POST", `/${id}/members`, { number: "201" }, own);
  const under = `/${id}/members/${member.body.id}`;
  await request("PATCH", under, { position: 2 }, own);
  await request("DELETE", under, undefined, own);
  await request("PATCH", `/${id}`, { name: "Sales" }, own);
  await request("DELETE", `/${id}`, undefined, own);
  const audit = await api.send("GET", `/api/v1/audit?subject_id=${id}`, { token: own.token });
  const of_member = { member_id: member.body.id };
  assert.deepEqual(
    audit.body.data.map(({ action, detail }: { action: string; detail: unknown }) => [
      action,
      detail,
    ]),
    [
      ["agent_group.deleted", {}],
      ["agent_group.updated", { changed: ["name"] }],
      ["agent_group_member.removed", of_member],
      ["agent_group_member.moved", of_member],
      ["agent_group_member.added", of_member],
      ["agent_group.created", {}],
    ],
  );
});

test("groups are read with agents.read and changed only with agents.manage, and only by their account", async () => {
  const id = await makeGroup();
  const { body } = await add(id, { number: "201" });
  const reader = { token: await makeAgentToken(api.app, account, ["agents.read"]) };
  const other = await makeAccount(api.app);
  assert.equal((await request("GET", `/${id}/members`, undefined, reader)).status, 200);
  for (const [method, under, json] of [
    ["PATCH", `/${id}`, { name: "x" }],
    ["DELETE", `/${id}`, undefined],
    ["POST", `/${id}/members`, { number: "202" }],
    ["PATCH", `/${id}/members/${body.id}`, { position: 1 }],
    ["DELETE", `/${id}/members/${body.id}`, undefined],
  ] as const) {
    assert.equal((await request(method, under, json, reader)).status, 403, `${method} ${under}`);
    assert.equal((await request(method, under, json, other)).status, 404, `${method} ${under}`);
  }
});

type Leg = { number: string; state: string; initiated_at: Date; ended_at: Date | null };

/** Creates agent legs of one call of the account. */
async function makeLegs(legs: readonly Leg[]): Promise<void> {
  const { account_id, owner_id } = account;
  const db = api.app.db.query;
  const at = new Date();
  const campaign = await db
    .insertInto("call_campaigns")
    .values({ account_id, kind: "click_to_call", created_by: owner_id, created_at: at })
    .returning("id")
    .executeTakeFirstOrThrow();
  const call = await db
    .insertInto("calls")
    .values({
      account_id,
      campaign_id: campaign.id,
      attempt: 1,
      node_id: 0,
      trunk_id: 0,
      from_number: "281",
      to_number: "9876543210",
      to_phone: "919876543210",
      due_at: at,
      queued_at: at,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await db
    .insertInto("call_legs")
    .values(
      legs.map((leg, i) => ({
        account_id,
        call_id: call.id,
        id: i + 1,
        role: "agent",
        on_trunk: false,
        status: leg.state === "ended" ? "completed" : "in-progress",
        ...leg,
      })),
    )
    .execute();
}

test("a group's count follows extensions that are deleted or get the number of another member", async () => {
  const [left, right] = [await makeGroup(), await makeGroup()];
  const ids = await Promise.all(
    ["281", "282"].map((each) => makeExtension(api.app, account, each)),
  );
  for (const number of ["281", "282", "9876543210"]) await add(left, { number });
  await add(right, { number: "281" });
  const counts = () =>
    Promise.all(
      [left, right].map(async (id) => (await request("GET", `/${id}`)).body.members_count),
    );
  const of_extension = (id: number) => `/api/v1/extensions/${id}`;
  const { token } = account;
  await api.send("DELETE", of_extension(ids[1]!), { token });
  assert.deepEqual(await counts(), [2, 1]);
  await add(left, { number: "283" });
  await api.send("PATCH", of_extension(ids[0]!), { token, json: { extension: "283" } });
  assert.deepEqual(await counts(), [2, 1]);
  assert.deepEqual((await orderOf(right))[0], ["283", 1]);
});

test("a member whose extension is deleted while it is moved is not found", async () => {
  const extension_id = await makeExtension(api.app, account, "299");
  const group = await makeGroup();
  const { id } = (await add(group, { number: "299" })).body;
  await add(group, { number: "298" });
  let moving = Promise.resolve({ status: 0 });
  const { account_id, owner_id: user_id } = account;
  const actor = { account_id, user_id, token_id: null, request_id: "req_test" };
  await api.app.db.query.transaction().execute(async (tx) => {
    await deleteExtension(tx, actor, extension_id, api.clock.now());
    moving = request("PATCH", `/${group}/members/${id}`, { position: 2 });
    await awaitsLock(api.app.db.query);
  });
  assert.equal((await moving).status, 404);
});
