// What a chat campaign's page shows beside its counts: failures by reason, and the pace.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  openChatFixture,
  startChatFixtureApi,
  type ChatFixture,
  type ChatFixtureApi,
} from "../../../test/support/chat-fixture.ts";
import { rowsRead } from "../../../test/support/rows-read.ts";
import { moveRecipients } from "../recipients/move-recipients.ts";
import type { RecipientState } from "../recipients/recipient-states.ts";
import { countFailures } from "./campaign-pace.ts";

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

type Step = readonly [state: RecipientState, error?: string];

/** Moves recipients of the campaign, one after the other from the first, by the same steps at this time. */
async function move(
  { app, account }: ChatFixture,
  campaign_id: number,
  [from, to]: readonly [number, number],
  at: string,
  ...steps: readonly Step[]
): Promise<void> {
  const recipients = await app.db.query
    .selectFrom("chat_recipients")
    .select(["id"])
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", campaign_id)
    .orderBy("id")
    .offset(from)
    .limit(to - from)
    .execute();
  for (const [state, error] of steps) {
    const dispatches = state === "dispatching" || state === "skipped" ? 0 : 1;
    const moves = recipients.map(({ id }) => ({
      campaign_id,
      id,
      dispatches,
      state,
      ...(error === undefined ? {} : { error }),
    }));
    const moved = await moveRecipients(app.db.pool, account.account_id, moves, new Date(at));
    assert.equal(moved.length, to - from, state);
  }
}

test("failures are counted by reason, the most frequent first, and a corrected one is not counted", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(12);
  const at = "2026-03-01T10:00:00Z";
  await move(
    fixture,
    id,
    [0, 5],
    at,
    ["dispatching"],
    ["accepted"],
    ["undelivered", "undeliverable"],
  );
  await move(fixture, id, [5, 7], at, ["dispatching"], ["refused", "not_on_whatsapp"]);
  await move(fixture, id, [7, 10], at, ["skipped", "suppressed"]);
  await move(fixture, id, [10, 12], at, ["dispatching"], ["accepted"]);
  await move(fixture, id, [0, 1], at, ["delivered"]);
  const { status, body } = await fixture.ask("GET", `/${id}/failures`);
  assert.equal(status, 200);
  assert.deepEqual(body.data, [
    { reason: "undeliverable", state: "failed", count: 4, is_more: false },
    { reason: "suppressed", state: "skipped", count: 3, is_more: false },
    { reason: "not_on_whatsapp", state: "failed", count: 2, is_more: false },
  ]);
  assert.equal((await fixture.ask("GET", "/987654321/failures")).status, 404);
});

test("the reasons of failures are counted without reading the recipients that did not fail", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(5_000);
  await move(fixture, id, [0, 3], "2026-03-01T10:00:00Z", ["dispatching"], ["refused", "expired"]);
  await fixture.app.db.pool.query("analyze chat_recipients");
  const key = { account_id: fixture.account.account_id, campaign_id: id };
  const read = await rowsRead(fixture.app, (app) => countFailures(app.db.query, key));
  assert.ok(read < 50, `read ${read} rows`);
});

test("the pace has what was sent, delivered and failed in each minute, each message once", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(10);
  const other = await fixture.campaign(1);
  await move(fixture, id, [0, 4], "2026-03-01T10:00:10Z", ["dispatching"], ["accepted"]);
  await move(fixture, id, [4, 6], "2026-03-01T10:00:59.900Z", ["dispatching"], ["accepted"]);
  await move(fixture, id, [7, 8], "2026-03-01T10:01:10Z", ["dispatching"], ["accepted"]);
  await move(fixture, other, [0, 1], "2026-03-01T10:00:50Z", ["dispatching"], ["accepted"]);
  await move(fixture, id, [0, 3], "2026-03-01T10:02:00Z", ["sent"], ["delivered"], ["read"]);
  await move(fixture, id, [3, 4], "2026-03-01T10:02:59Z", ["undelivered", "undeliverable"]);
  await move(fixture, id, [6, 7], "2026-03-01T10:02:59Z", ["skipped", "suppressed"]);
  fixture.api.clock.set(new Date("2026-03-01T10:03:30Z"));
  const minutes = [
    { minute: "2026-03-01T10:00:00.000Z", sent: 6, delivered: 0, failed: 0 },
    { minute: "2026-03-01T10:01:00.000Z", sent: 1, delivered: 0, failed: 0 },
    { minute: "2026-03-01T10:02:00.000Z", sent: 0, delivered: 3, failed: 2 },
  ];
  const { status, body } = await fixture.ask("GET", `/${id}/pace`);
  assert.equal(status, 200);
  assert.deepEqual(body.data, minutes);
  const recent = await fixture.ask("GET", `/${id}/pace?minutes=2`);
  assert.deepEqual(recent.body.data, minutes.slice(2));
  const wrong = await fixture.ask("GET", `/${id}/pace?minutes=1441`);
  assert.equal(wrong.status, 422);
});

test("a minute of the next day replaces the same minute of the day before", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(3);
  await move(fixture, id, [0, 2], "2026-03-01T10:00:10Z", ["dispatching"], ["accepted"]);
  await move(fixture, id, [2, 3], "2026-03-02T10:00:10Z", ["dispatching"], ["accepted"]);
  fixture.api.clock.set(new Date("2026-03-02T10:00:30Z"));
  const { body } = await fixture.ask("GET", `/${id}/pace?minutes=1440`);
  assert.deepEqual(body.data, [
    { minute: "2026-03-02T10:00:00.000Z", sent: 1, delivered: 0, failed: 0 },
  ]);
});
