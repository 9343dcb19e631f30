// The records of campaigns and their recipients in the API.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import { checkCampaigns } from "../../../test/support/check-invariants.ts";
import {
  openChatFixture,
  startChatFixtureApi,
  takeMessage,
  type ChatFixture,
  type ChatFixtureApi,
} from "../../../test/support/chat-fixture.ts";
import { makeSuppression } from "../../../test/support/chat-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeAgentToken, unique } from "../../../test/support/account-factory.ts";
import { makeContact } from "../../../test/support/crm-factory.ts";
import { linkBsuids } from "../../audience/suppressions/link-bsuids.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { hold, liftHold, type HoldReason, type HoldScope } from "../holds/holds.ts";
import type { RecipientState } from "../recipients/recipient-states.ts";

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

type Held = { scope: HoldScope; subject_id: number; reason: HoldReason };

async function setHold({ app, account }: ChatFixture, held: Held): Promise<void> {
  const { account_id } = account;
  await app.db.query
    .transaction()
    .execute((tx) => hold(tx, { account_id, ...held, detail: "said so" }, app.clock.now()));
}

async function dropHold({ app, account }: ChatFixture, held: Held): Promise<void> {
  const { account_id } = account;
  await app.db.query
    .transaction()
    .execute((tx) => liftHold(tx, { account_id, ...held }, app.clock.now()));
}

/** Moves the campaign's first recipients along, each by its own list of states. */
async function walk(fixture: ChatFixture, id: number, ways: readonly RecipientState[][]) {
  const { app, account } = fixture;
  const recipients = await app.db.query
    .selectFrom("chat_recipients")
    .select("id")
    .where("account_id", "=", account.account_id)
    .where("campaign_id", "=", id)
    .orderBy("id")
    .execute();
  for (const [i, way] of ways.entries()) {
    let dispatches = 0;
    for (const state of way) {
      const is_taken = ["accepted", "sent", "delivered", "read"].includes(state);
      const move = {
        campaign_id: id,
        id: recipients[i]!.id,
        dispatches,
        state,
        provider_message_id: `wamid.${id}.${i}`,
        error: is_taken ? null : `e_${state}`,
        error_code: is_taken ? null : i,
        due_at: app.clock.now(),
      };
      const moved = await app.db.pool.query(
        "select from chat_move_recipients_json($1, 'inbound', $2, now())",
        [account.account_id, JSON.stringify([move])],
      );
      assert.equal(moved.rowCount, 1, `${i} to ${state}`);
      if (state === "dispatching") dispatches++;
    }
  }
}

/** One recipient in each stored state. */
const every_way: readonly RecipientState[][] = [
  [],
  ["dispatching", "deferred"],
  ["dispatching"],
  ["dispatching", "unknown"],
  ["dispatching", "unknown", "unresolved"],
  ["dispatching", "refused"],
  ["dispatching", "accepted"],
  ["dispatching", "accepted", "sent"],
  ["dispatching", "accepted", "undelivered"],
  ["dispatching", "accepted", "delivered"],
  ["dispatching", "accepted", "delivered", "read"],
  ["skipped"],
  ["cancelled"],
];

test("a campaign's detail has the nine fields as its creation answered them, and all that was decided", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { api, app, account, number, template_id } = fixture;
  await makeSuppression(app, account, "919800000009");
  const created = await api.send("POST", "/api/v1/chat/campaigns", {
    token: account.token,
    headers: { "idempotency-key": unique("key") },
    json: {
      name: "Spring sale",
      chat_number_id: number.id,
      template_id,
      mm_lite: true,
      contacts: ["919800000001", "919800000001", "12", "919800000009", "919800000002"].map(
        (phone_number) => ({ phone_number }),
      ),
    },
  });
  assert.equal(created.status, 201, created.text);
  const { status, body } = await fixture.ask("GET", `/${created.body.id}`);
  assert.equal(status, 200);
  const none = { deferred: 0, dispatching: 0, unknown: 0, accepted: 0, sent: 0, delivered: 0 };
  assert.deepEqual(body, {
    ...created.body,
    paused_reason: null,
    chat_number_id: number.id,
    template_id,
    flow_id: null,
    automation_flow_id: null,
    delivered_count: 0,
    read_count: 0,
    unknown_count: 0,
    started_at: created.body.created_at,
    finished_at: null,
    holds: [],
    failure: null,
    trimmed: { invalid: 1, duplicate: 1, blacklisted: 1 },
    counts: { queued: 2, ...none, read: 0, failed: 0, skipped: 0, cancelled: 0 },
    reply_count: 0,
    purged_at: null,
    credits: { reserved: 2, captured: 0, released: 0, refunded: 0 },
    mm_lite: { requested: true, used: false, reason: "template_not_marketing" },
    created_by: account.owner_id,
  });
  assert.equal((await fixture.ask("GET", "/8000000000000001")).status, 404);
  const [listed] = (await fixture.ask("GET", "")).body.data;
  const { holds: _h, failure: _f, trimmed: _t, counts: _c, reply_count: _r, ...rest } = body;
  const { credits: _k, mm_lite: _m, created_by: _b, purged_at: _p, ...record } = rest;
  assert.deepEqual(listed, record);
});

test("sent, failed and pending are the total whenever one looks, while the campaign is being sent", async (t) => {
  const fixture = await openChatFixture(t, shared, { rate_per_second: 800 });
  const { provider } = fixture;
  const seen = new Set<string>();
  let another = Promise.withResolvers<void>();
  provider.answer = async (outgoing) => {
    const place = provider.sent.length;
    // Each observed state lets more messages through, however long a query takes.
    while (place > 60 * (seen.size + 1)) await another.promise;
    const remainder = place % 10;
    if (remainder === 1) throw new ChatSendError("rejected", "no", { code: 131_026 });
    if (remainder === 2) throw new ChatSendError("unknown", "cut");
    return takeMessage(outgoing);
  };
  const id = await fixture.campaign(1_500);
  const senders = fixture.startSenders();
  await eventually(async () => {
    for (const path of [`/${id}`, ""]) {
      const answer = (await fixture.ask("GET", path)).body;
      const found = path === "" ? answer.data[0] : answer;
      const { sent_count, failed_count, pending_count, total_contacts, unknown_count } = found;
      assert.equal(total_contacts, 1_500);
      assert.equal(sent_count + failed_count + pending_count, 1_500, JSON.stringify(found));
      seen.add(`${sent_count} ${failed_count} ${pending_count}`);
      another.resolve();
      another = Promise.withResolvers();
      if (pending_count === unknown_count) return true;
    }
    return false;
  });
  assert.ok(seen.size > 20, `only ${seen.size} different moments were seen`);
  await senders.stop();
  const { body } = await fixture.ask("GET", `/${id}`);
  assert.equal(body.failed_count, 150);
  assert.equal(body.unknown_count, 150);
  assert.equal(body.sent_count, 1_200);
  assert.equal(body.status, "running");
  await checkCampaigns(fixture.app.db.pool);
});

test("counts are reported by state, and credit as reserved, spent and refunded", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(13);
  await walk(fixture, id, every_way);
  const { body } = await fixture.ask("GET", `/${id}`);
  assert.deepEqual(body.counts, {
    queued: 1,
    deferred: 1,
    dispatching: 1,
    unknown: 1,
    accepted: 1,
    sent: 1,
    delivered: 1,
    read: 1,
    failed: 3,
    skipped: 1,
    cancelled: 1,
  });
  assert.equal(body.sent_count, 4);
  assert.equal(body.failed_count, 5);
  assert.equal(body.pending_count, 4);
  assert.equal(body.delivered_count, 2);
  assert.equal(body.read_count, 1);
  assert.equal(body.unknown_count, 1);
  assert.deepEqual(body.credits, { reserved: 13, captured: 6, released: 3, refunded: 1 });
});

test("a running campaign is paused while anything holds it, and the weightiest reason is shown", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  const other = await fixture.campaign(1);
  const held: Held[] = [
    { scope: "campaign", subject_id: id, reason: "manual" },
    { scope: "campaign", subject_id: id, reason: "error_threshold" },
    { scope: "template", subject_id: fixture.template_id, reason: "template_paused" },
    { scope: "number", subject_id: fixture.number.id, reason: "sender_restricted" },
    { scope: "account", subject_id: 0, reason: "auth" },
  ];
  for (const [i, one] of held.entries()) {
    await setHold(fixture, one);
    const { body } = await fixture.ask("GET", `/${id}`);
    assert.equal(body.status, "paused");
    assert.equal(body.paused_reason, one.reason);
    assert.equal(body.holds.length, i + 1);
    assert.equal(body.holds[0].detail, "said so");
    assert.match(body.holds[0].set_at, /^20\d\d-\d\d-\d\dT[\d:.]+Z$/);
    const ids = async (status: string) =>
      (await fixture.ask("GET", `?status=${status}`)).body.data.map(
        (row: { id: number }) => row.id,
      );
    assert.deepEqual(await ids("paused"), one.scope === "campaign" ? [id] : [other, id]);
    assert.deepEqual(await ids("running"), one.scope === "campaign" ? [other] : []);
  }
  for (const one of held) await dropHold(fixture, one);
  const { body } = await fixture.ask("GET", `/${id}`);
  assert.equal(body.status, "running");
  assert.equal(body.paused_reason, null);
  assert.deepEqual(body.holds, []);
});

test("a scheduled campaign is paused by its own holds alone, and one that is over by none", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  const set = (state: string) =>
    fixture.app.db.query
      .updateTable("chat_campaigns")
      .set({ state })
      .where("account_id", "=", fixture.account.account_id)
      .where("id", "=", id)
      .execute();
  const shown = async () => {
    const { body } = await fixture.ask("GET", `/${id}`);
    const listed = await fixture.ask("GET", `?status=${body.status}`);
    assert.equal(listed.body.data.length, 1, "the list's filter says otherwise");
    assert.equal(listed.body.data[0].status, body.status);
    return [body.status, body.paused_reason, body.holds.length];
  };
  await set("scheduled");
  await setHold(fixture, { scope: "number", subject_id: fixture.number.id, reason: "manual" });
  assert.deepEqual(await shown(), ["scheduled", null, 1]);
  await setHold(fixture, { scope: "campaign", subject_id: id, reason: "manual" });
  assert.deepEqual(await shown(), ["paused", "manual", 2]);
  for (const state of ["completed", "cancelled", "failed"]) {
    await set(state);
    assert.deepEqual(await shown(), [state, null, 0]);
  }
});

test("in the account's quiet time a running campaign is paused by it", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  const quiet = { quiet_from: "00:00", quiet_to: "23:59" };
  const patch = (chat: object) =>
    fixture.api.send("PATCH", "/api/v1/account", {
      token: fixture.account.token,
      json: { chat },
    });
  // Each is quiet all day but for a minute, which is hours away.
  const hour = new Date().getUTCHours();
  const answer = await patch(hour < 12 ? quiet : { quiet_from: "12:00", quiet_to: "11:59" });
  assert.equal(answer.status, 200, answer.text);
  const { body } = await fixture.ask("GET", `/${id}`);
  assert.equal(body.status, "paused");
  assert.equal(body.paused_reason, "quiet_time");
  assert.equal((await fixture.ask("GET", "?status=paused")).body.data.length, 1);
  assert.equal((await fixture.ask("GET", "?status=running")).body.data.length, 0);
  await patch({ quiet_from: null, quiet_to: null });
  assert.equal((await fixture.ask("GET", `/${id}`)).body.status, "running");
});

test("campaigns are listed newest first, by number, template, name and time, page by page", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account } = fixture;
  const ids: number[] = [];
  for (const name of ["100% off", "Diwali", "1000 off", "back\\slash"]) {
    const id = await fixture.campaign(1);
    await app.db.query
      .updateTable("chat_campaigns")
      .set({ name, created_at: new Date(`2026-01-0${ids.length + 1}T00:00:00Z`) })
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .execute();
    ids.push(id);
  }
  const [percent, diwali, thousand, slash] = ids as [number, number, number, number];
  const list = async (query: string) => {
    const answer = await fixture.ask("GET", query);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data.map(({ id }: { id: number }) => id);
  };
  assert.deepEqual(await list(""), ids.toReversed());
  assert.deepEqual(await list("?q=diwali"), [diwali]);
  assert.deepEqual(await list("?q=0%25%20o"), [percent]);
  assert.deepEqual(await list("?q=%5C"), [slash]);
  assert.deepEqual(await list("?from=2026-01-02T00:00:00Z&to=2026-01-04T00:00:00Z"), [
    thousand,
    diwali,
  ]);
  assert.deepEqual(await list(`?chat_number_id=${fixture.number.id}&q=diwali`), [diwali]);
  assert.deepEqual(await list("?chat_number_id=8000000000000001"), []);
  assert.equal((await list(`?template_id=${fixture.template_id}`)).length, 4);
  assert.deepEqual(await list("?template_id=9223372036854775807"), []);
  const first = (await fixture.ask("GET", "?limit=3")).body;
  assert.equal(first.data.length, 3);
  assert.deepEqual(await list(`?limit=3&cursor=${first.next_cursor}`), [percent]);
  for (const [query, field] of [
    ["status=stopped", "status"],
    ["from=yesterday", "from"],
    ["cursor=x", "cursor"],
    ["colour=red", "colour"],
  ])
    assert.deepEqual(failingFields(await fixture.ask("GET", `?${query}`)), [field]);
});

test("recipients come in their order with each step's time, and failed covers all that failed", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(13);
  await walk(fixture, id, every_way);
  const list = async (query = "") => {
    const answer = await fixture.ask("GET", `/${id}/recipients${query}`);
    assert.equal(answer.status, 200, answer.text);
    return answer.body.data as Record<string, unknown>[];
  };
  const all = await list();
  assert.deepEqual(
    all.map(({ state }) => state),
    (
      "queued deferred dispatching unknown failed failed accepted sent failed delivered read " +
      "skipped cancelled"
    ).split(" "),
  );
  for (const state of new Set(all.map((row) => row["state"] as string)))
    assert.deepEqual(
      await list(`?state=${state}`),
      all.filter((row) => row["state"] === state),
    );
  const read = all[10]!;
  for (const step of ["dispatched_at", "accepted_at", "sent_at", "delivered_at", "read_at"])
    assert.match(String(read[step]), /^20\d\d-.*Z$/, step);
  assert.equal(read["ended_at"], null);
  assert.equal(read["attempts"], 1);
  assert.equal(read["provider_message_id"], `wamid.${id}.10`);
  const failed = all[8]!;
  assert.equal(failed["error"], "e_undelivered");
  assert.equal(failed["error_code"], 8);
  assert.match(String(failed["ended_at"]), /Z$/);
  assert.deepEqual(await list("?error=e_undelivered"), [failed]);
  const phone = String(failed["phone_number"]);
  assert.deepEqual(await list(`?phone_number=${phone}`), [failed]);
  assert.deepEqual(await list(`?phone_number=%2B${phone.slice(0, 2)}-${phone.slice(2)}`), [failed]);
  assert.deepEqual(await list(`?phone_number=${phone}&state=read`), []);
  const { body } = await fixture.ask("GET", `/${id}/recipients?state=failed&limit=2`);
  assert.equal(body.data.length, 2);
  const rest = await list(`?state=failed&limit=2&cursor=${body.next_cursor}`);
  assert.deepEqual(rest, [failed]);
  for (const [query, field] of [
    ["state=refused", "state"],
    ["phone_number=12", "phone_number"],
    ["cursor=x", "cursor"],
    ["limit=201", "limit"],
  ])
    assert.deepEqual(failingFields(await fixture.ask("GET", `/${id}/recipients?${query}`)), [
      field,
    ]);
  assert.equal((await fixture.ask("GET", "/8000000000000001/recipients")).status, 404);
});

test("the filter by phone number finds all spellings of a number", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const phones = ["5551987654321", "551187654321", "5215512345678", "919800000001"];
  const id = await fixture.campaign(phones.map((phone) => ({ phone })));
  for (const [asked, phone] of [
    ["555187654321", "5551987654321"],
    ["5511987654321", "551187654321"],
    ["525512345678", "5215512345678"],
    ["919800000001", "919800000001"],
  ]) {
    const { body } = await fixture.ask("GET", `/${id}/recipients?phone_number=${asked}`);
    assert.deepEqual(
      body.data.map((row: { phone_number: string }) => row.phone_number),
      [phone],
    );
  }
});

test("the filter by phone number finds recipients that were addressed by a user ID that is linked to the number, in the list and the export", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account } = fixture;
  const id = await fixture.campaign(3);
  const linked = { bsuid: unique("IN."), phone: "919800000077" };
  const bsuids = [linked.bsuid, unique("IN.")];
  const { data } = (await fixture.ask("GET", `/${id}/recipients`)).body;
  for (const [i, bsuid] of bsuids.entries())
    await app.db.query
      .updateTable("chat_recipients")
      .set({ phone: null, bsuid })
      .where("account_id", "=", account.account_id)
      .where("campaign_id", "=", id)
      .where("id", "=", data[i].id)
      .execute();
  const now = app.clock.now();
  await app.db.query
    .transaction()
    .execute((tx) => linkBsuids(tx, account.account_id, [linked], now));
  const filter = `?phone_number=${linked.phone}`;
  const { body } = await fixture.ask("GET", `/${id}/recipients${filter}`);
  assert.deepEqual(
    body.data.map(({ bsuid }: { bsuid: string }) => bsuid),
    [linked.bsuid],
  );
  const { text } = await fixture.ask("GET", `/${id}/recipients/export${filter}`);
  assert.deepEqual(
    bsuids.map((bsuid) => text.includes(bsuid)),
    [true, false],
  );
});

test("replies to a campaign's messages are counted, and another campaign's are not", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { app, account, number } = fixture;
  const [id, other] = [await fixture.campaign(1), await fixture.campaign(1)];
  for (const campaign_id of [id, id, other, null])
    await app.db.query
      .insertInto("chat_replies")
      .values({
        account_id: account.account_id,
        chat_number_id: number.id,
        provider_message_id: unique("reply"),
        phone: "919800000001",
        type: "text",
        text: "yes",
        campaign_id,
        opted_out: false,
        received_at: app.clock.now(),
      })
      .execute();
  assert.equal((await fixture.ask("GET", `/${id}`)).body.reply_count, 2);
  assert.equal((await fixture.ask("GET", `/${other}`)).body.reply_count, 1);
});

test("a recipient names its contact for those who may see contacts", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const { api, app, account } = fixture;
  const id = await fixture.campaign([{ phone: "919845454541" }, { phone: "919845454542" }]);
  await makeContact(app, account, { phone: "9845454542", name: "Asha" });
  const names = async (token: string) => {
    const path = `/api/v1/chat/campaigns/${id}/recipients`;
    const { body } = await api.send("GET", path, { token });
    return body.data.map(({ contact_name }: { contact_name: string | null }) => contact_name);
  };
  assert.deepEqual((await names(account.token)).toSorted(), ["Asha", null]);
  assert.deepEqual(await names(await makeAgentToken(app, account, ["chat.read"])), [null, null]);
});
