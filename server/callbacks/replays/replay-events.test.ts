import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { operatorOf } from "../../accounts/roles/grantor.ts";
import type { EventType } from "../../engine/event-catalogue.ts";
import { isLeaseLost } from "../../engine/leases.ts";
import { workJobs, type Job, type JobHandler } from "../../engine/work-jobs.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import {
  lasting_lease,
  makeEndpoint,
  makeEvents,
  relay,
} from "../../../test/support/callback-factory.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { replayEvents } from "./replay-events.ts";
import { replayRange } from "./replay-range.ts";
import type { NewReplay } from "./replay-schema.ts";
import { listReplays } from "./replays.ts";

/** More than two batches. */
const many = 2_300;
const began_at = Date.UTC(2026, 0, 1);

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

/** Requests a replay of everything, unless the body says otherwise. */
function ask(account: TestAccount, endpointId: number, body: Partial<NewReplay> = {}) {
  const { actor } = operatorOf(account.account_id, "req_test");
  const replay = { body: { from: "2026-01-01T00:00:00Z", ...body }, timeZone: "UTC" };
  return api.app.db.query
    .transaction()
    .execute((tx) => replayRange(tx, actor, endpointId, replay, api.app.clock.now()));
}

const going = new AbortController().signal;
/** Runs each account's due job once. */
const work = (handler: JobHandler) =>
  workJobs(api.app, { "callbacks.replay": handler }, going, { times: lasting_lease, ms_max: 0 });
/** Runs exactly one batch. */
const takeStep: JobHandler = (app, job, stopping) => replayEvents(app, job, stopping, 0);

/** Counts the endpoint's deliveries by state. */
async function statesOf(account: TestAccount, endpointId: number) {
  const rows = await api.app.db.query
    .selectFrom("callback_deliveries")
    .select(["state", (eb) => eb.fn.countAll<number>().as("count")])
    .where("account_id", "=", account.account_id)
    .where("endpoint_id", "=", endpointId)
    .groupBy("state")
    .execute();
  return Object.fromEntries(rows.map(({ state, count }) => [state, count]));
}

/** Reads the account's only replay. */
async function progressOf({ account_id }: TestAccount) {
  const at = { limit: 2, cursor: undefined };
  const { data } = await listReplays(api.app.db.query, account_id, {}, at);
  assert.equal(data.length, 1);
  const { state, events_count, deliveries_count, reached, finished_at } = data[0]!;
  return [state, events_count, deliveries_count, reached, finished_at];
}

async function jobsOf({ account_id }: TestAccount) {
  return api.app.db.query
    .selectFrom("jobs")
    .select("id")
    .where("account_id", "=", account_id)
    .execute();
}

/** Marks all pending deliveries as delivered. */
async function deliverAll({ account_id }: TestAccount): Promise<void> {
  await api.app.db.query
    .updateTable("callback_deliveries")
    .set({ state: "delivered", attempts: 1, finished_at: api.app.clock.now() })
    .where("account_id", "=", account_id)
    .execute();
}

/** An account whose endpoint received more events than two batches replay. */
async function makeDelivered() {
  const account = await makeAccount(api.app);
  const endpoint = await makeEndpoint(api.app, account);
  await makeEvents(
    api.app,
    account,
    Array.from({ length: many }, (_, i) => ({ occurred_at: new Date(began_at + (i % 100)) })),
  );
  for (let relayed = 0; relayed < many; relayed += 1_000) await relay(api.app);
  await deliverAll(account);
  return { account, endpoint };
}

test("a replay that is killed after a batch continues behind it and delivers nothing twice", async () => {
  const { account, endpoint } = await makeDelivered();
  const from = new Date(began_at).toISOString();
  const to = "2026-01-01T00:00:01.000Z";
  await ask(account, endpoint.id, { include: "all", to });
  assert.deepEqual(await progressOf(account), ["processing", 0, 0, from, null]);
  await work(async (...run) => {
    await takeStep(...run);
    throw new Error("killed");
  });
  assert.deepEqual(await statesOf(account, endpoint.id), { pending: 1_000, delivered: 1_300 });
  // 23 events share each time: the thousandth event has the 44th time.
  const reached = new Date(began_at + 43).toISOString();
  assert.deepEqual(await progressOf(account), ["processing", 1_000, 1_000, reached, null]);
  await deliverAll(account);
  api.clock.advance(3_600_000);
  await work(replayEvents);
  assert.deepEqual(await statesOf(account, endpoint.id), { pending: 1_300, delivered: 1_000 });
  const now = api.app.clock.now().toISOString();
  assert.deepEqual(await progressOf(account), ["completed", many, many, to, now]);
  assert.deepEqual(await jobsOf(account), []);
});

test("a worker that lost the job of a replay writes nothing more", async () => {
  const { account, endpoint } = await makeDelivered();
  await ask(account, endpoint.id, { include: "all" });
  let lost: Job | undefined;
  await work(async (app, job, stopping) => {
    lost = job;
    return takeStep(app, job, stopping);
  });
  await work(takeStep);
  await deliverAll(account);
  await assert.rejects(replayEvents(api.app, lost!, going), isLeaseLost);
  assert.deepEqual(await statesOf(account, endpoint.id), { delivered: many });
  await work(replayEvents);
  assert.deepEqual(await statesOf(account, endpoint.id), { pending: 300, delivered: 2_000 });
});

test("a replay ends without a job when its endpoint is disabled or deleted meanwhile", async () => {
  for (const change of ["disabled_reason = 'manual'", "deleted_at = now()"]) {
    const { account, endpoint } = await makeDelivered();
    await ask(account, endpoint.id, { include: "all" });
    await work(takeStep);
    await api.app.db.pool.query(
      `update callback_endpoints set enabled = false, ${change} where account_id = $1`,
      [account.account_id],
    );
    await work(replayEvents);
    assert.deepEqual(await statesOf(account, endpoint.id), { pending: 1_000, delivered: 1_300 });
    assert.deepEqual(await jobsOf(account), []);
    const { rows } = await api.app.db.pool.query(
      "select state, events_count from callback_replays where account_id = $1",
      [account.account_id],
    );
    assert.deepEqual(rows, [{ state: "failed", events_count: 1_000 }]);
  }
});

test("a replay ends when its endpoint's rows are deleted meanwhile", async () => {
  const { account, endpoint } = await makeDelivered();
  await ask(account, endpoint.id);
  await api.app.db.query
    .deleteFrom("callback_endpoints")
    .where("account_id", "=", account.account_id)
    .execute();
  await work(replayEvents);
  assert.deepEqual(await jobsOf(account), []);
});

test("an event that is being deleted is not replayed", async () => {
  const account = await makeAccount(api.app);
  const endpoint = await makeEndpoint(api.app, account, { types: ["credit.low"] });
  const event = { occurred_at: new Date(began_at) };
  const [kept, deleted] = await makeEvents(api.app, account, [event, event]);
  await relay(api.app);
  const { account_id } = account;
  await api.app.db.query
    .updateTable("callback_endpoints")
    .set({ types: null })
    .where("account_id", "=", account_id)
    .execute();
  await ask(account, endpoint.id);
  let replaying: Promise<unknown> | undefined;
  await api.app.db.query.transaction().execute(async (tx) => {
    await tx
      .deleteFrom("events")
      .where("account_id", "=", account_id)
      .where("id", "=", deleted!)
      .execute();
    replaying = work(replayEvents);
    await awaitsLock(api.app.db.query);
  });
  await replaying;
  const rows = await api.app.db.query
    .selectFrom("callback_deliveries")
    .select("event_id")
    .where("account_id", "=", account_id)
    .execute();
  assert.deepEqual(rows, [{ event_id: kept }]);
});

test("a replay and retention of the same events do not deadlock", async () => {
  const account = await makeAccount(api.app);
  const { account_id } = account;
  const endpoint = await makeEndpoint(api.app, account);
  const event = { occurred_at: new Date(began_at) };
  const [, last] = await makeEvents(api.app, account, [event, event]);
  await relay(api.app);
  await deliverAll(account);
  await ask(account, endpoint.id, { include: "all" });
  let purging: Promise<{ rows: unknown[] }> | undefined;
  let replaying: Promise<unknown> | undefined;
  await api.app.db.query.transaction().execute(async (tx) => {
    await tx
      .selectFrom("events")
      .select("id")
      .where("account_id", "=", account_id)
      .where("id", "=", last!)
      .forKeyShare()
      .execute();
    // Retention has locked the first event, and its endpoint is next; then the replay begins.
    purging = api.app.db.pool.query("select deleted from purge_events($1, $2, 1000)", [
      account_id,
      new Date(began_at + 1),
    ]);
    await awaitsLock(api.app.db.query);
    replaying = work(replayEvents);
    await awaitsLock(api.app.db.query, 2);
  });
  const [purged] = await Promise.all([purging!, replaying]);
  assert.deepEqual(purged.rows, [{ deleted: 2 }]);
  assert.deepEqual((await progressOf(account)).slice(0, 3), ["completed", 2, 0]);
});

type Planned = {
  /** Milliseconds after the first time. */
  readonly at: number;
  readonly type: EventType;
  /** Null: without a delivery. */
  readonly state: "pending" | "delivered" | "failed" | null;
};
const planned = fc.record<Planned>({
  at: fc.integer({ min: 0, max: 9 }),
  type: fc.constantFrom("lead.created", "lead.updated", "credit.low"),
  state: fc.constantFrom("pending", "delivered", "failed", null),
});
const plan = fc.record({
  events: fc.array(planned, { minLength: 1, maxLength: 12 }),
  types: fc.constantFrom<EventType[] | null>(
    null,
    ["lead.created"],
    ["credit.low", "lead.updated"],
  ),
  include: fc.constantFrom("undelivered" as const, "all" as const),
  from: fc.integer({ min: 0, max: 5 }),
  to: fc.integer({ min: 6, max: 10 }),
});

test("a replay delivers exactly the events of its time range, of the endpoint's types and of the requested states", async () => {
  await fc.assert(
    fc.asyncProperty(plan, async ({ events, types, include, from, to }) => {
      const account = await makeAccount(api.app);
      const endpoint = await makeEndpoint(api.app, account);
      const at = (ms: number) => new Date(began_at + ms);
      const ids = await makeEvents(
        api.app,
        account,
        events.map(({ type, at: ms }) => ({ type, occurred_at: at(ms) })),
      );
      await relay(api.app);
      await setDeliveries(account, events, ids);
      const wanted = types && `{${types.join()}}`;
      const { account_id } = account;
      await api.app.db.pool.query(
        "update callback_endpoints set types = $2 where account_id = $1",
        [account_id, wanted],
      );
      await ask(account, endpoint.id, {
        from: at(from).toISOString(),
        to: at(to).toISOString(),
        include,
      });
      await work(replayEvents);
      const expected = events.map(({ type, at: ms, state }) => {
        const isMeant = ms >= from && ms < to && (types === null || types.includes(type));
        return isMeant && (include === "all" || state !== "delivered") ? "replayed" : state;
      });
      assert.deepEqual(await resultsOf(account, ids), expected);
    }),
    { numRuns: 25 },
  );
});

/** Puts the relayed deliveries into the planned states; their attempts distinguish replayed from other ones. */
async function setDeliveries({ account_id }: TestAccount, events: Planned[], ids: number[]) {
  for (const [i, { state }] of events.entries()) {
    const at = new Date(began_at);
    const place = [account_id, ids[i]];
    if (state === null)
      await api.app.db.pool.query(
        "delete from callback_deliveries where account_id = $1 and event_id = $2",
        place,
      );
    else
      await api.app.db.pool.query(
        `update callback_deliveries set state = $3, attempts = 3, due_at = $4::timestamptz + interval '100 years',
          finished_at = case when $3 <> 'pending' then $4 end
        where account_id = $1 and event_id = $2`,
        [...place, state, at],
      );
  }
}

/** For each event: "replayed" if its delivery is due now, else its delivery's state, or null. */
async function resultsOf({ account_id }: TestAccount, ids: number[]) {
  const rows = await api.app.db.query
    .selectFrom("callback_deliveries")
    .select(["event_id", "state", "due_at", "finished_at"])
    .where("account_id", "=", account_id)
    .execute();
  return ids.map((id) => {
    const row = rows.find(({ event_id }) => event_id === id);
    if (!row) return null;
    const isDue = row.due_at <= api.app.clock.now() && row.finished_at === null;
    return row.state === "pending" && isDue ? "replayed" : row.state;
  });
}
