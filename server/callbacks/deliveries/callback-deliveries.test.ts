import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openDeliverers } from "./open-deliverers.ts";
import { replayEvents } from "../replays/replay-events.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  lasting_lease,
  makeDelivery,
  makeEndpoint,
  makeEvents,
  relay,
} from "../../../test/support/callback-factory.ts";
import { openCallbackReceiver } from "../../../test/support/callback-receiver.ts";
import { eventually } from "../../../test/support/eventually.ts";
import {
  makeAccount,
  makeAgentToken,
  type TestAccount,
} from "../../../test/support/account-factory.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

const deliveries = "/api/v1/callbacks/deliveries";
const get = (account: TestAccount, path: string) =>
  api.send("GET", `${deliveries}${path}`, { token: account.token });
const replay = (account: TestAccount, id: number, headers: Record<string, string> = {}) =>
  api.send("POST", `${deliveries}/${id}/replay`, { token: account.token, headers });
const replayRange = (account: TestAccount, endpointId: number, json: unknown) =>
  api.send("POST", `/api/v1/callbacks/endpoints/${endpointId}/replay`, {
    token: account.token,
    json,
  });
const idsOf = (answer: { body: { data: { id: number }[] } }) =>
  answer.body.data.map(({ id }) => id);

/** Returns the endpoint's work_at, which is set while it has work. */
async function workAt({ account_id }: TestAccount, id: number): Promise<Date | null> {
  const { work_at } = await api.app.db.query
    .selectFrom("callback_endpoints")
    .select("work_at")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return work_at;
}

test("lists deliveries with their events, endpoints and results, newest first, in pages", async () => {
  const account = await makeAccount(api.app);
  const { account_id } = account;
  const { id: endpoint_id } = await makeEndpoint(api.app, account);
  const failed = await makeDelivery(api.app, account, endpoint_id, {
    type: "call.completed",
    data: { call_id: 77, campaign_id: 1 },
    state: "failed",
    attempts: [200, 500],
  });
  const waiting = await makeDelivery(api.app, account, endpoint_id, { attempts: ["no answer"] });
  const first = await get(account, "?limit=1");
  const { created_at, due_at } = first.body.data[0];
  assert.deepEqual(first.body.data, [
    {
      id: waiting.id,
      endpoint_id,
      webhook_id: `evt_${account_id}_${waiting.event_id}`,
      type: "lead.created",
      seq: 2,
      call_id: null,
      method: "POST",
      state: "pending",
      attempts: 1,
      due_at,
      created_at,
      finished_at: null,
      last_status: null,
      last_error: "no answer",
    },
  ]);
  assert.ok(due_at && created_at);
  const second = await get(account, `?limit=1&cursor=${first.body.next_cursor}`);
  const { finished_at, ...shown } = second.body.data[0];
  assert.deepEqual([shown.id, shown.call_id, shown.state, shown.seq], [failed.id, 77, "failed", 1]);
  assert.deepEqual([shown.due_at, shown.last_status, shown.last_error], [null, 500, null]);
  assert.ok(finished_at);
  assert.equal(second.body.next_cursor, null);
});

test("filters deliveries by each filter and by several at once", async () => {
  const account = await makeAccount(api.app);
  const shop = await makeEndpoint(api.app, account, { types: ["lead.created", "call.completed"] });
  const crm = await makeEndpoint(api.app, account, { types: ["lead.created"] });
  api.clock.set("2026-01-01T10:00:00Z");
  const call = await makeDelivery(api.app, account, shop.id, {
    type: "call.completed",
    data: { call_id: 9, campaign_id: 1 },
    state: "delivered",
  });
  api.clock.set("2026-01-01T11:00:00Z");
  const lead = await makeDelivery(api.app, account, shop.id, { state: "failed" });
  const [twin] = idsOf(await get(account, `?endpoint_id=${crm.id}`));
  const webhook_id = `evt_${account.account_id}_${lead.event_id}`;
  const found = async (query: string) => new Set(idsOf(await get(account, `?${query}`)));
  assert.deepEqual(await found(`endpoint_id=${shop.id}`), new Set([call.id, lead.id]));
  assert.deepEqual(await found("state=failed"), new Set([lead.id]));
  assert.deepEqual(await found("state=pending"), new Set([twin]));
  assert.deepEqual(await found("state=delivered"), new Set([call.id]));
  assert.deepEqual(await found("type=call.completed"), new Set([call.id]));
  assert.deepEqual(await found("call_id=9"), new Set([call.id]));
  assert.deepEqual(await found(`webhook_id=${webhook_id}`), new Set([lead.id, twin]));
  assert.deepEqual(await found(`webhook_id=${webhook_id}&endpoint_id=${crm.id}`), new Set([twin]));
  assert.deepEqual(await found("from=2026-01-01T11:00:00Z"), new Set([lead.id, twin]));
  assert.deepEqual(await found("to=2026-01-01T11:00:00Z"), new Set([call.id]));
  assert.deepEqual(await found("from=2026-01-01&to=2026-01-02"), new Set([call.id, lead.id, twin]));
  assert.deepEqual(await found("from=2026-01-02"), new Set([]));
  assert.deepEqual(await found("state=failed&type=call.completed"), new Set([]));
  assert.deepEqual(
    await found("endpoint_id=9007199254740992&call_id=9007199254740992"),
    new Set([]),
  );
  for (const query of [
    "state=lost",
    "type=",
    "webhook_id=17",
    "call_id=x",
    "from=today",
    "from=2026-02-30",
    "to=2026-1-1",
    "seq=1",
  ]) {
    const answer = await get(account, `?${query}`);
    assert.equal(answer.status, 422, query);
    assert.equal(answer.body.errors[0].field, query.split("=")[0]);
  }
});

test("shows a delivery with its URL, its content and every attempt, oldest first", async () => {
  const account = await makeAccount(api.app);
  const { id: endpoint_id, url } = await makeEndpoint(api.app, account);
  const occurred_at = new Date("2026-02-03T04:05:06.700Z");
  const { id } = await makeDelivery(api.app, account, endpoint_id, {
    occurred_at,
    data: { id: 5, name: "Ann" },
    attempts: ["no response within 15 s", 503],
  });
  const { status, body } = await get(account, `/${id}`);
  assert.equal(status, 200);
  assert.equal(body.url, url);
  assert.equal(
    body.body,
    '{"type":"lead.created","timestamp":"2026-02-03T04:05:06.700Z","data":{"id":5,"name":"Ann"}}',
  );
  const shown = body.all_attempts.map((attempt: Record<string, unknown>) => [
    attempt["status"],
    attempt["error"],
    attempt["response"],
    attempt["duration_ms"],
  ]);
  assert.deepEqual(shown, [
    [null, "no response within 15 s", null, 12],
    [503, null, "said 503", 12],
  ]);
  const { url: _url, body: _body, all_attempts: _attempts, ...record } = body;
  assert.deepEqual((await get(account, "?limit=1")).body.data, [record]);
  await api.app.db.query
    .updateTable("callback_deliveries")
    .set({ method: "GET" })
    .where("account_id", "=", account.account_id)
    .execute();
  const asGet = await get(account, `/${id}`);
  assert.equal(
    asGet.body.body,
    "type=lead.created&timestamp=2026-02-03T04%3A05%3A06.700Z&id=5&name=Ann",
  );
});

test("a replayed delivery restarts under its webhook-id, keeps its attempts, and wakes its endpoint", async () => {
  const account = await makeAccount(api.app);
  const { id: endpoint_id } = await makeEndpoint(api.app, account);
  for (const state of ["failed", "delivered"] as const) {
    const { id } = await makeDelivery(api.app, account, endpoint_id, { state, attempts: [500] });
    const finished = (await get(account, `/${id}`)).body;
    // The state after everything was delivered.
    await api.app.db.pool.query(
      "update callback_endpoints set work_at = null where account_id = $1",
      [account.account_id],
    );
    const now = new Date("2026-03-01T00:00:00.000Z");
    api.clock.set(now);
    const answer = await replay(account, id, { "idempotency-key": `again-${id}` });
    assert.equal(answer.status, 202);
    const { due_at, finished_at, attempts, last_status } = answer.body;
    assert.deepEqual(
      [answer.body.state, answer.body.webhook_id, due_at, finished_at, attempts, last_status],
      ["pending", finished.webhook_id, now.toISOString(), null, 0, 500],
    );
    assert.deepEqual(await workAt(account, endpoint_id), now);
    assert.deepEqual((await get(account, `/${id}`)).body.all_attempts, finished.all_attempts);
    const again = await replay(account, id, { "idempotency-key": `again-${id}` });
    assert.equal(again.headers.get("idempotency-replayed"), "true");
    assert.equal(again.text, answer.text);
    const trail = await api.send("GET", `/api/v1/audit?subject_id=${id}`, { token: account.token });
    assert.deepEqual(
      trail.body.data.map(({ action, detail }: { action: string; detail: unknown }) => [
        action,
        detail,
      ]),
      [["callback_delivery.replayed", { endpoint_id }]],
    );
  }
});

test("replaying a pending delivery makes it due now and keeps its attempt count", async () => {
  const account = await makeAccount(api.app);
  const { id: endpoint_id } = await makeEndpoint(api.app, account);
  const now = new Date("2026-03-02T00:00:00.000Z");
  api.clock.set(now);
  const { id } = await makeDelivery(api.app, account, endpoint_id, { attempts: [500, 500] });
  const later = new Date(now.getTime() + 3_600_000);
  await api.app.db.pool.query(
    "update callback_deliveries set due_at = $2 where account_id = $1 and id = $3",
    [account.account_id, later, id],
  );
  const { status, body } = await replay(account, id);
  assert.deepEqual([status, body.state, body.attempts], [202, "pending", 2]);
  assert.equal(body.due_at, now.toISOString());
});

test("refuses to replay to a disabled endpoint, a deleted delivery and a deleted event", async () => {
  const account = await makeAccount(api.app);
  const { id: endpoint_id } = await makeEndpoint(api.app, account);
  const from = "2026-01-01T00:00:00Z";
  const { id, event_id } = await makeDelivery(api.app, account, endpoint_id, { state: "failed" });
  const set = (change: string) =>
    api.app.db.pool.query(`update callback_endpoints set ${change} where account_id = $1`, [
      account.account_id,
    ]);
  await set("enabled = false, disabled_reason = 'gone'");
  for (const answer of [
    await replay(account, id),
    await replayRange(account, endpoint_id, { from }),
  ]) {
    assert.equal(answer.status, 409);
    assert.equal(answer.body.type, "conflict");
    assert.match(answer.body.detail, /disabled/);
  }
  assert.equal((await get(account, `/${id}`)).body.state, "failed");
  await set("deleted_at = now()");
  assert.equal((await replay(account, id)).status, 404);
  assert.equal((await replayRange(account, endpoint_id, { from })).status, 404);
  assert.deepEqual((await get(account, "")).body.data, []);
  await set("enabled = true, disabled_reason = null, deleted_at = null");
  await api.app.db.query
    .deleteFrom("events")
    .where("account_id", "=", account.account_id)
    .where("id", "=", event_id)
    .execute();
  assert.equal((await replay(account, id)).status, 404);
});

test("reports every invalid field of a replay, and reads its times in the account's time zone", async () => {
  const account = await makeAccount(api.app);
  const { id } = await makeEndpoint(api.app, account);
  api.clock.set("2026-03-03T00:00:00Z");
  const violationsOf = async (json: unknown) => {
    const { status, body } = await replayRange(account, id, json);
    assert.equal(status, 422);
    return body.errors.map(({ field }: { field: string }) => field).toSorted();
  };
  assert.deepEqual(await violationsOf({}), ["from"]);
  assert.deepEqual(await violationsOf({ from: "today", to: "now", include: "some" }), [
    "from",
    "include",
    "to",
  ]);
  assert.deepEqual(await violationsOf({ from: "2026-03-03T00:00:00Z", states: [] }), [
    "from",
    "states",
  ]);
  const day = "2026-03-01T00:00:00Z";
  assert.deepEqual(await violationsOf({ from: day, to: day }), ["to"]);
  await api.app.db.query
    .updateTable("accounts")
    .set({ time_zone: "Asia/Kolkata" })
    .where("account_id", "=", account.account_id)
    .execute();
  // A token's account is cached for seconds.
  const other = await makeAgentToken(api.app, account, ["callbacks.manage"]);
  const path = `/api/v1/callbacks/endpoints/${id}/replay`;
  const json = { from: "2026-03-01T05:30:00", to: "2030-01-01T00:00:00Z" };
  const answer = await api.send("POST", path, { token: other, json });
  assert.equal(answer.status, 202);
  const { id: replay_id, created_by } = answer.body;
  assert.deepEqual(answer.body, {
    id: replay_id,
    endpoint_id: id,
    from: "2026-03-01T00:00:00.000Z",
    to: "2026-03-03T00:00:00.000Z",
    include: "undelivered",
    state: "processing",
    reached: "2026-03-01T00:00:00.000Z",
    events_count: 0,
    deliveries_count: 0,
    created_by,
    created_at: "2026-03-03T00:00:00.000Z",
    finished_at: null,
  });
  const second = await api.send("POST", path, { token: other, json });
  assert.equal(second.status, 409);
  assert.match(second.body.detail, new RegExp(`^Replay ${replay_id} .* in progress`));
  await workJobs(api.app, { "callbacks.replay": replayEvents }, new AbortController().signal);
  // A day means its midnight in that zone.
  const days = await api.send("POST", path, {
    token: other,
    json: { from: "2026-03-01", to: "2026-03-02" },
  });
  const { from, to } = days.body;
  assert.deepEqual([from, to], ["2026-02-28T18:30:00.000Z", "2026-03-01T18:30:00.000Z"]);
});

test("replaying a time range delivers failed and undelivered events under their webhook-ids", async (t) => {
  const account = await makeAccount(api.app);
  const receiver = await openCallbackReceiver();
  t.after(() => receiver.close());
  api.clock.set("2026-04-01T10:00:00Z");
  const [missed] = await makeEvents(api.app, account, [{}]);
  await relay(api.app);
  const { id: endpoint_id } = await makeEndpoint(api.app, account, { url: receiver.url });
  const failed = await makeDelivery(api.app, account, endpoint_id, { state: "failed" });
  await makeDelivery(api.app, account, endpoint_id, { state: "delivered" });
  api.clock.set("2026-04-01T11:00:00Z");
  await makeDelivery(api.app, account, endpoint_id, { state: "failed" });
  const range = { from: "2026-04-01T10:00:00Z", to: "2026-04-01T11:00:00Z" };
  const started = await replayRange(account, endpoint_id, range);
  assert.equal(started.status, 202);
  const going = new AbortController().signal;
  await workJobs(api.app, { "callbacks.replay": replayEvents }, going);
  const deliverers = openDeliverers(api.app, lasting_lease);
  await eventually(async () => {
    await deliverers.startDue();
    const { body } = await get(account, `?state=delivered&endpoint_id=${endpoint_id}`);
    return body.data.length === 3;
  });
  await deliverers.stop();
  const webhookIds = new Set(receiver.received.map(({ headers }) => headers["webhook-id"]));
  const expected = [missed, failed.event_id].map((id) => `evt_${account.account_id}_${id}`);
  assert.deepEqual(webhookIds, new Set<unknown>(expected));
  // Every event of the range is counted; delivered events are not replayed.
  const { token } = account;
  const replays = "/api/v1/callbacks/replays";
  const { body: through } = await api.send("GET", `${replays}/${started.body.id}`, { token });
  assert.deepEqual(through, {
    ...started.body,
    state: "completed",
    reached: started.body.to,
    events_count: 3,
    deliveries_count: 2,
    finished_at: api.clock.now().toISOString(),
  });
  // It is completed, so another replay may start.
  const again = await replayRange(account, endpoint_id, range);
  assert.equal(again.status, 202);
  const list = async (query: string) =>
    idsOf(await api.send("GET", `${replays}?${query}`, { token }));
  assert.deepEqual(await list(`endpoint_id=${endpoint_id}`), [again.body.id, started.body.id]);
  assert.deepEqual(await list("endpoint_id=9007199254740992"), []);
  const { body: page } = await api.send("GET", `${replays}?limit=1`, { token });
  assert.deepEqual(await list(`limit=1&cursor=${page.next_cursor}`), [started.body.id]);
  const other = await makeAccount(api.app);
  const foreign = await api.send("GET", `${replays}/${started.body.id}`, { token: other.token });
  assert.equal(foreign.status, 404);
  assert.equal((await api.send("GET", replays, { token: other.token })).body.data.length, 0);
});

test("an account sees and replays only its own deliveries", async () => {
  const account = await makeAccount(api.app);
  const { id: endpoint_id } = await makeEndpoint(api.app, account);
  const { id, event_id } = await makeDelivery(api.app, account, endpoint_id, { state: "failed" });
  const other = await makeAccount(api.app);
  assert.deepEqual((await get(other, "")).body.data, []);
  const webhook_id = `evt_${account.account_id}_${event_id}`;
  assert.deepEqual((await get(other, `?webhook_id=${webhook_id}`)).body.data, []);
  assert.equal((await get(other, `/${id}`)).status, 404);
  assert.equal((await replay(other, id)).status, 404);
  const from = "2026-01-01T00:00:00Z";
  assert.equal((await replayRange(other, endpoint_id, { from })).status, 404);
  assert.equal((await get(account, `/${id}`)).body.state, "failed");
});
