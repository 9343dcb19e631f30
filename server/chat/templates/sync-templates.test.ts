import assert from "node:assert/strict";
import { after, before, beforeEach, test, type TestContext } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
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
  unique,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { sandboxStub } from "../../../test/support/sandbox-stub.ts";
import { openScriptedProvider } from "../../../test/support/scripted-provider.ts";
import { ChatSendError, type ProviderTemplate } from "../../drivers/chat/driver.ts";
import { workJobs } from "../../engine/work-jobs.ts";
import { applyFailureEffect, failureEffects } from "../inbound/failure-effects.ts";
import { decideAction } from "../messages/error-actions.ts";
import { scheduleTemplateSync } from "../numbers/schedule-template-sync.ts";
import { setTemplateStatus, type TemplateChange } from "./set-template-status.ts";
import { syncTemplatesDaily } from "./sync-templates.ts";

const provider = openScriptedProvider();
let api: TestApi;
let account: TestAccount;
let number: TestChatNumber;

before(async () => {
  api = await startApi({ chatDrivers: { sandbox: sandboxStub, whatsapp: provider.driver } });
});
after(() => api.close());
beforeEach(async () => {
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 100 });
  number = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  provider.templates = [];
  provider.failure = null;
  provider.meanwhile = async () => {};
});

const atProvider = (more: Partial<ProviderTemplate> = {}): ProviderTemplate => ({
  provider_template_id: unique("pt"),
  name: unique("welcome").replaceAll("-", "_"),
  language: "en",
  category: "MARKETING",
  parameter_format: "POSITIONAL",
  components: [{ type: "BODY", text: "Hello {{1}}" }],
  status: "APPROVED",
  quality: "GREEN",
  rejection_reason: null,
  ...more,
});
const sync = (chat_number_id = number.id, by = account) =>
  api.send("POST", "/api/v1/chat/templates/sync", { token: by.token, json: { chat_number_id } });
const stored = async () => {
  const { body } = await api.send("GET", "/api/v1/chat/templates", { token: account.token });
  return body.data as { id: number; name: string; status: string; rejection_reason: string }[];
};
const holds = async () => {
  const rows = await api.app.db.query
    .selectFrom("chat_holds")
    .select(["scope", "subject_id", "reason", "detail"])
    .where("account_id", "=", account.account_id)
    .execute();
  return rows.map((row) => `${row.scope} ${row.subject_id} ${row.reason} ${row.detail}`);
};
const events = () =>
  api.app.db.query
    .selectFrom("events")
    .select("data")
    .where("account_id", "=", account.account_id)
    .where("type", "=", "chat.template.updated")
    .orderBy("id")
    .execute();
const setStatus = (template_id: number, change: TemplateChange) =>
  api.app.db.query
    .transaction()
    .execute((tx) =>
      setTemplateStatus(
        tx,
        { account_id: account.account_id, template_id },
        change,
        api.app.clock.now(),
      ),
    );

/** Creates a running campaign that is not due before 2099. */
async function makeResting(template_id: number): Promise<() => Promise<number>> {
  const recipients = [{ phone: "919876543210" }];
  const id = await makeChatCampaign(api.app, account, number, template_id, recipients);
  const campaign = () =>
    api.app.db.query
      .updateTable("chat_campaigns")
      .where("account_id", "=", account.account_id)
      .where("id", "=", id)
      .returning("work_at");
  await campaign()
    .set({ work_at: new Date("2099-01-01") })
    .execute();
  return async () => {
    const { work_at } = await campaign().set({ name: "x" }).executeTakeFirstOrThrow();
    return work_at.getUTCFullYear();
  };
}

test("a template that may not be sent holds its campaigns until it is approved again", async () => {
  const template_id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  for (const status of ["PAUSED", "DISABLED", "REJECTED"] as const) {
    const year = await makeResting(template_id);
    const change = { status, reason: `because ${status}` };
    assert.deepEqual(await setStatus(template_id, change), { changed: true, number_ids: [] });
    assert.deepEqual(await holds(), [`template ${template_id} template_paused because ${status}`]);
    assert.equal(await year(), 2099);
    const asked_at = api.app.clock.now();
    const approved = await setStatus(template_id, { status: "APPROVED", asked_at });
    assert.deepEqual(approved, { changed: true, number_ids: [number.id] });
    assert.deepEqual(await holds(), []);
    assert.notEqual(await year(), 2099);
  }
  const [template] = await stored();
  assert.deepEqual([template?.status, template?.rejection_reason], ["APPROVED", null]);
  assert.equal((await events()).length, 6);
});

test("an approval in the second of a pause is stored, although its event has no milliseconds, and releases no campaign before the content is fetched", async () => {
  const template_id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  api.clock.set("2026-04-01T00:00:01.700Z");
  await setStatus(template_id, { status: "PAUSED" });
  await setStatus(template_id, { status: "APPROVED", at: new Date("2026-04-01T00:00:00Z") });
  assert.equal((await stored())[0]?.status, "PAUSED");
  await setStatus(template_id, { status: "APPROVED", at: new Date("2026-04-01T00:00:01Z") });
  assert.equal((await stored())[0]?.status, "APPROVED");
  assert.equal((await holds()).length, 1);
  // By the provider's clock, the approval is later than the response.
  const asked_at = new Date("2026-04-01T00:00:00Z");
  await setStatus(template_id, { status: "APPROVED", asked_at });
  assert.deepEqual(await holds(), []);
  api.clock.release();
});

test("an unchanged status records no event, and restores a hold that a person has lifted", async () => {
  const template_id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  assert.equal((await setStatus(template_id, { status: "APPROVED" })).changed, false);
  await setStatus(template_id, { status: "PAUSED", reason: "quality" });
  await api.send("POST", "/api/v1/chat/holds/lift", {
    token: account.token,
    json: { scope: "template", subject_id: template_id, reason: "template_paused" },
  });
  assert.deepEqual(await holds(), []);
  assert.equal(
    (await setStatus(template_id, { status: "PAUSED", reason: "quality" })).changed,
    false,
  );
  assert.equal((await holds()).length, 1);
  assert.equal((await events()).length, 1);
});

test("quality and category change without touching status, reason or holds", async () => {
  const template_id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  await setStatus(template_id, { status: "PAUSED", reason: "low quality" });
  await setStatus(template_id, { quality: "RED", category: "MARKETING" });
  const all = await events();
  assert.deepEqual(all.at(-1)?.data, {
    template_id,
    name: (await stored())[0]?.name,
    language: "en",
    status: "PAUSED",
    quality: "RED",
    category: "MARKETING",
    rejection_reason: "low quality",
  });
  assert.equal((await holds()).length, 1);
  const unknown = await setStatus(8_000_000_000_000_001, { status: "PAUSED" });
  assert.deepEqual(unknown, { changed: false, number_ids: [] });
});

test("a sync imports new templates and changes, and a second sync changes nothing", async () => {
  const kept = await makeChatTemplate(api.app, account, number, {
    driver: "whatsapp",
    status: "PENDING",
  });
  const [known] = await stored();
  const approved = atProvider({ name: known!.name, components: [{ type: "BODY", text: "New" }] });
  provider.templates = [approved, atProvider(), atProvider({ status: "PAUSED" })];
  assert.deepEqual((await sync()).body, { total: 3, added: 2, updated: 1, gone: 0 });
  const templates = await stored();
  assert.deepEqual(
    templates.map(({ status }) => status),
    ["APPROVED", "APPROVED", "PAUSED"],
  );
  const { body } = await api.send("GET", `/api/v1/chat/templates/${kept}`, {
    token: account.token,
  });
  assert.deepEqual(
    [body.components, body.category, body.quality, body.provider_template_id],
    [approved.components, "MARKETING", "GREEN", approved.provider_template_id],
  );
  assert.deepEqual(body.variable_defaults, { "1": "there" });
  assert.deepEqual((await sync()).body, { total: 3, added: 0, updated: 0, gone: 0 });
});

test("a sync resumes campaigns whose template is approved again, and notifies their sender", async () => {
  const mine = atProvider({ status: "PAUSED" });
  provider.templates = [mine];
  await sync();
  const { id } = (await stored())[0]!;
  // As after a rejected send: the template's own status does not change.
  await setStatus(id, { status: "PAUSED" });
  const year = await makeResting(id);
  const notified: string[] = [];
  api.app.notifications.on("chat_work", (subject) => notified.push(subject));
  provider.templates = [{ ...mine, status: "APPROVED" }];
  await sync();
  assert.deepEqual(await holds(), []);
  assert.notEqual(await year(), 2099);
  assert.deepEqual(new Set(notified), new Set([`${account.account_id}:${number.id}`]));
});

test("a sync lifts a hold on an approved template", async () => {
  provider.templates = [atProvider()];
  await sync();
  const { id } = (await stored())[0]!;
  const { account_id } = account;
  await api.app.db.query
    .insertInto("chat_holds")
    .values({
      account_id,
      scope: "template",
      subject_id: id,
      reason: "template_paused",
      set_at: new Date(),
    })
    .execute();
  await sync();
  assert.deepEqual(await holds(), []);
});

test("a sync disables templates deleted at the provider, but none created meanwhile", async () => {
  const gone = atProvider();
  provider.templates = [gone];
  await sync();
  provider.templates = [];
  let made: number | null = null;
  provider.meanwhile = async () => {
    made ??= await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  };
  assert.deepEqual((await sync()).body, { total: 0, added: 0, updated: 0, gone: 1 });
  const templates = await stored();
  const found = templates.find(({ name }) => name === gone.name);
  assert.deepEqual(
    [found?.status, found?.rejection_reason],
    ["DISABLED", "no longer exists at the provider"],
  );
  assert.equal(templates.find(({ id }) => id === made)?.status, "APPROVED");
});

test("a sync does not undo what an event has changed since the provider was asked", async () => {
  const [asked] = (provider.templates = [atProvider({ category: "UTILITY" })]);
  await sync();
  const id = (await stored())[0]!.id;
  provider.templates = [{ ...asked!, quality: "YELLOW" }];
  provider.meanwhile = async () => {
    // Events are dated in whole seconds.
    const at = new Date(api.app.clock.now().getTime() + 1_000);
    await setStatus(id, { status: "PAUSED", category: "MARKETING", at });
  };
  assert.equal((await sync()).body.updated, 1);
  const [template] = await api.app.db.query
    .selectFrom("chat_templates")
    .select(["status", "category", "quality"])
    .where("id", "=", id)
    .execute();
  assert.deepEqual(template, { status: "PAUSED", category: "MARKETING", quality: "YELLOW" });
  assert.equal((await holds()).length, 1);
});

test("the sandbox loses its templates on restart, and the stored ones stay", async () => {
  const sandbox = await makeChatNumber(api.app, account);
  await makeChatTemplate(api.app, account, sandbox);
  assert.deepEqual((await sync(sandbox.id)).body, { total: 0, added: 0, updated: 0, gone: 0 });
  const [template] = await stored();
  assert.equal(template?.status, "APPROVED");
});

test("a sync does not touch templates of another business account or account", async () => {
  const second = await makeChatNumber(api.app, account, { driver: "whatsapp" });
  const id = await makeChatTemplate(api.app, account, second, { driver: "whatsapp" });
  provider.templates = [atProvider()];
  await sync();
  const templates = await stored();
  assert.equal(templates.find((one) => one.id === id)?.status, "APPROVED");
  const other = await makeAccount(api.app);
  assert.deepEqual(failingFields(await sync(number.id, other)), ["chat_number_id"]);
  assert.deepEqual(failingFields(await sync(8_000_000_000_000_001)), ["chat_number_id"]);
});

test("a sync changes nothing when the provider does not respond", async () => {
  provider.templates = [atProvider()];
  await sync();
  for (const [failure, status] of [
    ["rejected", 422],
    ["unreachable", 503],
    ["unknown", 503],
  ] as const) {
    provider.failure = new ChatSendError(failure, "no");
    assert.equal((await sync()).status, status);
  }
  assert.deepEqual(
    (await stored()).map(({ status }) => status),
    ["APPROVED"],
  );
});

const work = async (app = api.app) => {
  const handlers = { "chat.sync_templates": syncTemplatesDaily };
  await workJobs(app, handlers, new AbortController().signal);
};
const schedule = async () => {
  const { business_account_id } = number;
  const business = {
    account_id: account.account_id,
    driver: "whatsapp",
    business_account_id,
  } as const;
  const now = api.app.clock.now();
  await api.app.db.query.transaction().execute((tx) => scheduleTemplateSync(tx, business, now));
};
const runAt = async (business: string) => {
  const job = await api.app.db.query
    .selectFrom("jobs")
    .select("run_at")
    .where("account_id", "=", account.account_id)
    .where("subject", "=", `whatsapp:${business}`)
    .executeTakeFirst();
  return job?.run_at.toISOString();
};

test("the daily sync stores the quality rating of each number and whether it may use the marketing route", async (t) => {
  const described = provider.number;
  t.after(() => {
    provider.number = described;
    api.clock.release();
  });
  const states = async () => {
    const { body } = await api.send("GET", "/api/v1/chat/numbers", { token: account.token });
    return body.data.map(({ quality, marketing_onboarded }: Record<string, unknown>) => [
      quality,
      marketing_onboarded,
    ]);
  };
  api.clock.set("2026-06-01T00:00:00Z");
  await schedule();
  await work();
  assert.deepEqual(await states(), [["YELLOW", true]]);
  provider.number = { ...described, quality: "RED", marketing_onboarded: false };
  api.clock.set("2026-06-02T00:00:00Z");
  await work();
  assert.deepEqual(await states(), [["RED", false]]);
});

test("templates sync on creation of a number and then daily, every ten minutes while campaigns wait for a review, until the last number is deleted", async () => {
  api.clock.set("2026-05-01T00:00:00Z");
  const business_account_id = unique("ba");
  const created = await api.send("POST", "/api/v1/chat/numbers", {
    token: account.token,
    json: {
      name: "New",
      phone_number: "919876543210",
      driver: "whatsapp",
      provider_phone_number_id: unique("pn"),
      business_account_id,
    },
  });
  provider.templates = [atProvider()];
  await work();
  assert.equal((await stored()).length, 1);
  assert.equal(await runAt(business_account_id), "2026-05-02T00:00:00.000Z");
  provider.failure = new ChatSendError("rejected", "no permission (200)", { code: 200 });
  api.clock.set("2026-05-02T00:00:00Z");
  await work();
  assert.equal(await runAt(business_account_id), "2026-05-02T01:00:00.000Z");
  provider.failure = new ChatSendError("unreachable", "no connection");
  api.clock.set("2026-05-02T01:00:00Z");
  await work();
  assert.equal(await runAt(business_account_id), "2026-05-02T01:01:00.000Z");
  provider.failure = null;
  provider.templates = [...provider.templates, atProvider()];
  api.clock.set("2026-05-02T01:01:00Z");
  await work();
  assert.equal((await stored()).length, 2);
  for (const [status, at, again_at] of [
    ["PENDING", "2026-05-03T01:01:00Z", "2026-05-03T01:11:00.000Z"],
    ["APPROVED", "2026-05-03T01:11:00Z", "2026-05-04T01:11:00.000Z"],
  ] as const) {
    provider.templates = provider.templates.map((template) => ({ ...template, status }));
    api.clock.set(at);
    await work();
    assert.equal(await runAt(business_account_id), again_at);
  }
  const path = `/api/v1/chat/numbers/${created.body.id}`;
  assert.equal((await api.send("DELETE", path, { token: account.token })).status, 204);
  api.clock.set("2026-05-05T02:00:00Z");
  await work();
  assert.equal(await runAt(business_account_id), undefined);
});

async function isReleasedSoon(
  t: TestContext,
  status: "PAUSED" | "PENDING",
  dated_ms: number,
): Promise<void> {
  t.after(() => api.clock.release());
  api.clock.set("2026-07-01T00:00:00Z");
  const template = atProvider();
  provider.templates = [template];
  await sync();
  const { id } = (await stored())[0]!;
  const year = await makeResting(id);
  await setStatus(id, { status, at: api.app.clock.now() });
  api.clock.set("2026-07-01T03:00:00Z");
  const now = api.app.clock.now();
  await setStatus(id, { status: "APPROVED", at: new Date(now.getTime() + dated_ms) });
  const { business_account_id } = number;
  await schedule();
  provider.templates = [{ ...template, status }];
  await work();
  assert.equal((await holds()).length, 1);
  assert.equal(await runAt(business_account_id), "2026-07-01T03:10:00.000Z");
  provider.templates = [template];
  api.clock.set("2026-07-01T03:10:00Z");
  await work();
  assert.deepEqual(await holds(), []);
  assert.notEqual(await year(), 2099);
  assert.equal(await runAt(business_account_id), "2026-07-02T03:10:00.000Z");
}

test("a template that was PAUSED and is approved again releases its campaigns within ten minutes, also when the provider's list is later than its webhook", (t) =>
  isReleasedSoon(t, "PAUSED", 0));

test("a template that was PENDING and is approved again releases its campaigns within ten minutes, also when the provider's clock is ahead of ours", (t) =>
  isReleasedSoon(t, "PENDING", 60_000));

/** Has the provider refuse a message because the template is paused. */
function refuseMessage(template_id: number): Promise<void> {
  const failed = {
    campaign_id: null,
    template_id,
    chat_number_id: number.id,
    phone: "",
    code: 132_015,
  };
  const action = decideAction(
    new ChatSendError("rejected", "no", failed),
    { error: null, attempts: 0 },
    0,
  );
  const [effect] = failureEffects(failed, action, api.app.clock.now());
  return api.app.db.query
    .transaction()
    .execute((tx) => applyFailureEffect(tx, account.account_id, effect!, api.app.clock.now()));
}

/** Pauses a template five minutes after the daily sync; requires that it is fetched ten minutes later. */
async function isFetchedSoon(t: TestContext, pause: (id: number) => Promise<unknown>) {
  t.after(() => api.clock.release());
  api.clock.set("2026-07-01T10:00:00Z");
  const { business_account_id } = number;
  provider.templates = [atProvider()];
  await schedule();
  await work();
  assert.equal(await runAt(business_account_id), "2026-07-02T10:00:00.000Z");
  const { id } = (await stored())[0]!;
  await makeResting(id);
  for (const [at, again_at] of [
    ["2026-07-01T10:05:00Z", "2026-07-01T10:15:00.000Z"],
    ["2026-07-01T10:06:00Z", "2026-07-01T10:15:00.000Z"],
  ] as const) {
    api.clock.set(at);
    await pause(id);
    assert.equal(await runAt(business_account_id), again_at);
  }
  assert.equal((await holds()).length, 1);
  api.clock.set("2026-07-01T10:15:00Z");
  await work();
  assert.deepEqual(await holds(), []);
}

test("a template that an event pauses between two daily syncs is fetched after ten minutes", (t) =>
  isFetchedSoon(t, (id) => setStatus(id, { status: "PAUSED", at: api.app.clock.now() })));

test("a template that is paused because the provider refused a message is fetched after ten minutes", (t) =>
  isFetchedSoon(t, refuseMessage));

test("a sync that the provider throttles runs again after a minute or the provider's pause, and one without a credential after an hour while campaigns wait for a held template", async (t) => {
  t.after(() => api.clock.release());
  api.clock.set("2026-08-01T00:00:00Z");
  const { business_account_id } = number;
  await schedule();
  for (const [retry_after_ms, again_at] of [
    [30_000, "2026-08-01T00:01:00.000Z"],
    [120_000, "2026-08-01T00:03:00.000Z"],
  ] as const) {
    provider.failure = new ChatSendError("throttled", "too many requests", { retry_after_ms });
    await work();
    assert.equal(await runAt(business_account_id), again_at);
    api.clock.set(again_at);
  }
  const template_id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  await makeResting(template_id);
  const app = { ...api.app, chatDrivers: {} };
  await work(app);
  assert.equal(await runAt(business_account_id), "2026-08-02T00:03:00.000Z");
  await setStatus(template_id, { status: "PENDING" });
  api.clock.set("2026-08-02T00:03:00Z");
  await work(app);
  assert.equal(await runAt(business_account_id), "2026-08-02T01:03:00.000Z");
});

test("a held template that no open campaign uses is fetched less and less often, up to daily, and every ten minutes while one does", async (t) => {
  t.after(() => api.clock.release());
  api.clock.set("2026-09-01T00:00:00Z");
  const { business_account_id } = number;
  const template = atProvider();
  provider.templates = [template];
  await sync();
  const { id } = (await stored())[0]!;
  await makeResting(id);
  const setFinished = (finished_at: Date | null) =>
    api.app.db.query
      .updateTable("chat_campaigns")
      .set({ state: finished_at ? "completed" : "running", finished_at })
      .where("account_id", "=", account.account_id)
      .execute();
  provider.templates = [{ ...template, status: "PAUSED" }];
  await schedule();
  const delays = async (count: number) => {
    const minutes: number[] = [];
    while (minutes.length < count) {
      const at = api.app.clock.now();
      await work();
      const run_at = (await runAt(business_account_id))!;
      minutes.push((new Date(run_at).getTime() - at.getTime()) / 60_000);
      api.clock.set(run_at);
    }
    return minutes;
  };
  assert.deepEqual(await delays(3), [10, 10, 10]);
  await setFinished(api.app.clock.now());
  assert.deepEqual(await delays(7), [30, 60, 120, 240, 480, 960, 1440]);
  await setFinished(null);
  assert.deepEqual(await delays(2), [10, 10]);
});
