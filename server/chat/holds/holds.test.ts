import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { awaitsLock } from "../../../test/support/awaits-lock.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  type TestChatNumber,
} from "../../../test/support/chat-factory.ts";
import {
  makeAccount,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import type { Tx } from "../../lib/database/database.ts";
import { findOpenCampaigns, setWorkAt } from "../sender/internal/sender-statements.ts";
import {
  hold,
  hold_reasons,
  holdsOf,
  holdSubjectsOf,
  liftHold,
  pausedReason,
  type HoldReason,
  type HoldSubject,
} from "./holds.ts";

let api: TestApi;
let account: TestAccount;
let number: TestChatNumber;
let template_id: number;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 1_000 });
  number = await makeChatNumber(api.app, account);
  template_id = await makeChatTemplate(api.app, account, number);
});
after(() => api.close());

const now = new Date("2026-03-01T00:00:00Z");
const later = new Date("2026-03-02T00:00:00Z");
const within = <Answer>(work: (tx: Tx) => Promise<Answer>) =>
  api.app.db.query.transaction().execute(work);
const set = (subject: HoldSubject, reason: HoldReason, at = now, detail: string | null = null) =>
  within((tx) => hold(tx, { account_id: account.account_id, ...subject, reason, detail }, at));
const lift = (subject: HoldSubject, reason: HoldReason, at = later) =>
  within((tx) => liftHold(tx, { account_id: account.account_id, ...subject, reason }, at));
const holdsOn = (subject: HoldSubject) => holdsOf(api.app.db.query, account.account_id, [subject]);

/** Creates a running campaign that is not due before 2099. */
async function makeResting(on = number, template = template_id): Promise<number> {
  const recipients = [{ phone: "919876543210" }];
  const id = await makeChatCampaign(api.app, account, on, template, recipients);
  await api.app.db.query
    .updateTable("chat_campaigns")
    .set({ work_at: new Date("2099-01-01T00:00:00Z") })
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .execute();
  return id;
}

async function workAt(id: number): Promise<string> {
  const { work_at } = await api.app.db.query
    .selectFrom("chat_campaigns")
    .select("work_at")
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
  return work_at.toISOString();
}

const resting = "2099-01-01T00:00:00.000Z";

test("a campaign shows the highest-ranked hold that applies to it", async () => {
  const campaign = { id: 7, template_id: 8, chat_number_id: 9 };
  const subjects = holdSubjectsOf(campaign);
  assert.equal(subjects.length, 4);
  const set_at = now.toISOString();
  const all = hold_reasons.map((reason, i) => {
    const subject = subjects[i % subjects.length]!;
    return { ...subject, reason, detail: null, set_at, ends_at: null };
  });
  for (const [i, { reason }] of all.entries()) {
    assert.equal(pausedReason(all.slice(i), campaign), reason);
  }
  assert.equal(pausedReason([], campaign), null);
  const elsewhere = {
    scope: "template",
    subject_id: 7,
    reason: "auth",
    detail: null,
    set_at,
    ends_at: null,
  } as const;
  assert.equal(pausedReason([elsewhere], campaign), null);
});

test("the rank of holds does not depend on the order in which they are set", async () => {
  const subject = { scope: "number", subject_id: 4_711 } as const;
  for (const reason of hold_reasons.toReversed()) await set(subject, reason);
  const found = await holdsOn(subject);
  assert.deepEqual(
    found.map(({ reason }) => reason),
    hold_reasons,
  );
});

test("a hold that is set again keeps its time and detail", async () => {
  const subject = { scope: "number", subject_id: 4_712 } as const;
  assert.equal(await set(subject, "auth", now, "first"), true);
  assert.equal(await set(subject, "auth", later, "second"), false);
  const found = await holdsOn(subject);
  assert.deepEqual(found, [
    { ...subject, reason: "auth", detail: "first", set_at: now.toISOString(), ends_at: null },
  ]);
  const other = await makeAccount(api.app);
  assert.deepEqual(await holdsOf(api.app.db.query, other.account_id, [subject]), []);
});

test("lifting a hold makes exactly the affected running campaigns due at once", async () => {
  const number2 = await makeChatNumber(api.app, account);
  const template2 = await makeChatTemplate(api.app, account, number2);
  for (const [subjectOf, reason, wakesBoth] of [
    [(id: number): HoldSubject => ({ scope: "campaign", subject_id: id }), "manual", false],
    [(): HoldSubject => ({ scope: "template", subject_id: template2 }), "template_paused", true],
    [(): HoldSubject => ({ scope: "number", subject_id: number2.id }), "sender_restricted", true],
  ] as const) {
    const one = await makeResting(number2, template2);
    const two = await makeResting(number2, template2);
    const elsewhere = await makeResting();
    await set(subjectOf(one), reason);
    const lifted = await lift(subjectOf(one), reason);
    assert.deepEqual(lifted, { lifted: true, number_ids: [number2.id] });
    assert.equal(await workAt(one), later.toISOString());
    assert.equal(await workAt(two), wakesBoth ? later.toISOString() : resting);
    assert.equal(await workAt(elsewhere), resting);
  }
  const one = await makeResting(number2, template2);
  const two = await makeResting();
  await set({ scope: "account", subject_id: 0 }, "auth");
  const lifted = await lift({ scope: "account", subject_id: 0 }, "auth");
  assert.deepEqual(new Set(lifted.number_ids), new Set([number.id, number2.id]));
  assert.deepEqual(
    [await workAt(one), await workAt(two)],
    [later, later].map((at) => at.toISOString()),
  );
});

test("lifting a missing hold, or a hold of an ended campaign, makes no campaign due", async () => {
  const id = await makeResting();
  const subject = { scope: "campaign", subject_id: id } as const;
  assert.deepEqual(await lift(subject, "manual"), { lifted: false, number_ids: [] });
  assert.equal(await workAt(id), resting);
  await set(subject, "manual");
  await api.app.db.query
    .updateTable("chat_campaigns")
    .set({ state: "cancelled" })
    .where("account_id", "=", account.account_id)
    .where("id", "=", id)
    .execute();
  assert.deepEqual(await lift(subject, "manual"), { lifted: true, number_ids: [] });
  assert.equal(await workAt(id), resting);
});

test("a sender that read a hold before it was lifted does not delay the campaign", async () => {
  const on = await makeChatNumber(api.app, account);
  const recipients = [{ phone: "919876543210" }];
  const template = await makeChatTemplate(api.app, account, on);
  const id = await makeChatCampaign(api.app, account, on, template, recipients);
  const subject = { scope: "number", subject_id: on.id } as const;
  await set(subject, "auth");
  const [found] = await findOpenCampaigns(api.app, account.account_id, on.id);
  assert.equal(found!.held, true);
  const lifted_at = new Date();
  await lift(subject, "auth", lifted_at);
  const next = new Date("2099-01-01T00:00:00Z");
  await setWorkAt(api.app, account.account_id, [{ latest: found!, next }]);
  assert.equal(await workAt(id), lifted_at.toISOString());
});

test("a campaign that has ended, or ends while a hold is set, is not held", async () => {
  const id = await makeResting();
  const subject = { scope: "campaign", subject_id: id } as const;
  const { holding } = await within(async (tx) => {
    await tx
      .updateTable("chat_campaigns")
      .set({ state: "cancelled" })
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .execute();
    const waiting = set(subject, "error_threshold");
    await awaitsLock(api.app.db.query);
    return { holding: waiting };
  });
  assert.equal(await holding, false);
  assert.equal(await set(subject, "manual"), false);
  assert.deepEqual(await holdsOn(subject), []);
});

const send = (method: string, path: string, json?: unknown, by = account) =>
  api.send(method, `/api/v1/chat/holds${path}`, {
    token: by.token,
    ...(json === undefined ? {} : { json }),
  });

test("lists holds across pages, filtered by scope or subject", async () => {
  const by = await makeAccount(api.app);
  const expected: string[] = [];
  for (const scope of ["campaign", "number", "template"] as const) {
    for (const subject_id of [9, 10, 1_000]) {
      for (const reason of ["auth", "manual"] as const) {
        await api.app.db.query
          .insertInto("chat_holds")
          .values({
            account_id: by.account_id,
            scope,
            subject_id,
            reason,
            detail: "x",
            set_at: now,
          })
          .execute();
        expected.push(`${scope} ${subject_id} ${reason}`);
      }
    }
  }
  const pagesOf = async (query: string) => {
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const at: string = cursor === null ? "" : `&cursor=${cursor}`;
      const { status, body, text } = await send("GET", `?limit=4${query}${at}`, undefined, by);
      assert.equal(status, 200, text);
      for (const { scope, subject_id, reason, detail, set_at } of body.data) {
        assert.deepEqual([detail, set_at], ["x", now.toISOString()]);
        seen.push(`${scope} ${subject_id} ${reason}`);
      }
      cursor = body.next_cursor;
    } while (cursor !== null);
    return seen;
  };
  assert.deepEqual(await pagesOf(""), expected);
  const numbers = expected.filter((line) => line.startsWith("number"));
  assert.deepEqual(await pagesOf("&scope=number"), numbers);
  assert.deepEqual(await pagesOf("&scope=number&subject_id=10"), numbers.slice(2, 4));
  assert.deepEqual(await pagesOf(`&subject_id=${2n ** 62n}`), []);
  assert.deepEqual(failingFields(await send("GET", "?scope=all")), ["scope"]);
  assert.deepEqual(failingFields(await send("GET", "?cursor=MTA")), ["cursor"]);
});

test("a hold is lifted by hand once and recorded in the audit trail", async () => {
  const notified: string[] = [];
  api.app.notifications.on("chat_work", (subject) => notified.push(subject));
  const id = await makeResting();
  const subject = { scope: "campaign", subject_id: id } as const;
  await set(subject, "error_threshold");
  const body = { ...subject, reason: "error_threshold" };
  const other = await makeAccount(api.app);
  assert.equal((await send("POST", "/lift", body, other)).status, 404);
  assert.equal((await send("POST", "/lift", body)).status, 204);
  assert.notEqual(await workAt(id), resting);
  assert.ok(notified.includes(`${account.account_id}:${number.id}`));
  assert.equal((await send("POST", "/lift", body)).status, 404);
  const audit = await api.app.db.query
    .selectFrom("audit_entries")
    .select(["subject_id", "detail"])
    .where("account_id", "=", account.account_id)
    .where("action", "=", "chat_hold.lifted")
    .execute();
  const detail = { scope: "campaign", reason: "error_threshold" };
  assert.deepEqual(audit, [{ subject_id: String(id), detail }]);
});

test("holds that end by their own action cannot be lifted by hand", async () => {
  for (const reason of ["manual", "credit", "quiet_time", "boredom"]) {
    const json = { scope: "campaign", subject_id: 1, reason };
    assert.deepEqual(failingFields(await send("POST", "/lift", json)), ["reason"]);
  }
  assert.deepEqual(failingFields(await send("POST", "/lift", {})), [
    "scope",
    "subject_id",
    "reason",
  ]);
  const json = { scope: "all", subject_id: "1", reason: "auth" };
  assert.deepEqual(failingFields(await send("POST", "/lift", json)), ["scope", "subject_id"]);
});

test("a hold that is extended while the one before ends stays", async () => {
  const on = await makeChatNumber(api.app, account);
  const campaign = await makeResting(on, await makeChatTemplate(api.app, account, on));
  const held = { account_id: account.account_id, scope: "number", subject_id: on.id } as const;
  const throttle = (ends_at: Date) =>
    within((tx) => hold(tx, { ...held, reason: "throttled", detail: null, ends_at }, now));
  await throttle(now);
  const { ending } = await within(async (tx) => {
    await tx
      .selectFrom("chat_campaigns")
      .select("id")
      .where("account_id", "=", account.account_id)
      .where("id", "=", campaign)
      .forNoKeyUpdate()
      .execute();
    const waiting = within((own) =>
      liftHold(own, { ...held, reason: "throttled", until: now }, now),
    );
    await awaitsLock(api.app.db.query);
    await throttle(later);
    return { ending: waiting };
  });
  assert.equal((await ending).lifted, false);
  assert.deepEqual(
    (await holdsOn(held)).map(({ ends_at }) => ends_at),
    [later.toISOString()],
  );
});
