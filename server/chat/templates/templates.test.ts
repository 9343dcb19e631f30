import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeAutomationFlow,
  makeChatCampaign,
  makeChatFlow,
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
import { startProviderStub } from "../../../test/support/provider-stub/start-provider-stub.ts";
import { sandboxStub } from "../../../test/support/sandbox-stub.ts";
import { openScriptedProvider } from "../../../test/support/scripted-provider.ts";
import { ChatSendError } from "../../drivers/chat/driver.ts";
import { openMetaDriver } from "../../drivers/chat/meta/open-meta-driver.ts";
import { submitTemplate } from "./create-template.ts";
import type { NewTemplate } from "./template-schema.ts";
import { setTemplateStatus } from "./set-template-status.ts";

const provider = openScriptedProvider();
let api: TestApi;
let account: TestAccount;
let other: TestAccount;
/** Numbers of the sandbox and of the fake provider. */
let sandbox: TestChatNumber;
let number: TestChatNumber;

before(async () => {
  api = await startApi({ chatDrivers: { sandbox: sandboxStub, whatsapp: provider.driver } });
  account = await makeAccount(api.app);
  other = await makeAccount(api.app);
  sandbox = await makeChatNumber(api.app, account);
  number = await makeChatNumber(api.app, account, { driver: "whatsapp" });
});
after(() => api.close());

const base = "/api/v1/chat/templates";
const send = (method: string, path: string, json?: unknown, by = account, headers = {}) =>
  api.send(method, base + path, {
    token: by.token,
    headers,
    ...(json === undefined ? {} : { json }),
  });
const newName = () => unique("greeting").replaceAll("-", "_");
const greeting = (more: object = {}) => ({
  chat_number_id: sandbox.id,
  name: newName(),
  language: "en_US",
  category: "UTILITY",
  components: [
    { type: "HEADER", format: "DOCUMENT" },
    { type: "BODY", text: "Hello {{1}} and {{2}}", example: { body_text: [["a", "b"]] } },
    { type: "BUTTONS", buttons: [{ type: "QUICK_REPLY", text: "Yes" }] },
  ],
  variable_defaults: { "1": "there" },
  header_media: { link: "https://a.example/a.pdf", filename: "a.pdf", id: null },
  ...more,
});
const add = (more: object = {}, by = account, headers = {}) =>
  send("POST", "", greeting(more), by, headers);
const rowsOf = (name: string) =>
  api.app.db.query
    .selectFrom("chat_templates")
    .selectAll()
    .where("account_id", "=", account.account_id)
    .where("name", "=", name)
    .execute();

test("a template is submitted, stored with the provider's response, and lists its variables", async () => {
  const asked = greeting();
  const { status, body, text } = await send("POST", "", asked);
  assert.equal(status, 201, text);
  const { id, provider_template_id, created_at, updated_at } = body;
  assert.match(provider_template_id, /^sandbox-/);
  assert.deepEqual(body, {
    id,
    driver: "sandbox",
    business_account_id: sandbox.business_account_id,
    name: asked.name,
    language: "en_US",
    category: "UTILITY",
    parameter_format: "POSITIONAL",
    components: asked.components,
    variables: [
      { key: "1", required: false },
      { key: "2", required: true },
      { key: "button_0", required: false },
    ],
    unsupported: null,
    variable_defaults: { "1": "there" },
    header_media: { link: "https://a.example/a.pdf", filename: "a.pdf" },
    status: "APPROVED",
    quality: "UNKNOWN",
    rejection_reason: null,
    provider_template_id,
    created_at,
    updated_at,
  });
  assert.deepEqual((await send("GET", `/${id}`)).body, body);
  assert.equal((await send("GET", `/${id}`, undefined, other)).status, 404);
  const rejected = await add({ name: `rejected_${newName()}` });
  assert.deepEqual(
    [rejected.status, rejected.body.status, rejected.body.rejection_reason],
    [201, "REJECTED", "INVALID_FORMAT"],
  );
});

test("reports every invalid field of a new template", async () => {
  const theirs = await makeChatNumber(api.app, other);
  const cases: [object, string[]][] = [
    [{ name: "Greeting" }, ["name"]],
    [{ name: "" }, ["name"]],
    [{ name: "x".repeat(513) }, ["name"]],
    [{ language: "English" }, ["language"]],
    [{ category: "SPAM" }, ["category"]],
    [{ parameter_format: "MIXED" }, ["parameter_format"]],
    [{ components: [] }, ["components"]],
    [{ components: "x" }, ["components"]],
    [{ components: [null] }, ["components.0", "components"]],
    [{ components: [{ type: "SIDE" }] }, ["components.0.type", "components"]],
    [
      { header_media: { link: "http://a.example", url: 1 } },
      ["header_media.url", "header_media.link"],
    ],
    [{ variable_defaults: { "3": "x" } }, ["variable_defaults.3"]],
    [{ variable_defaults: { "1": " " } }, ["variable_defaults.1"]],
    [{ variable_defaults: { "1": 1 } }, ["variable_defaults.1"]],
    [{ status: "APPROVED" }, ["status"]],
    [{ chat_number_id: 8_000_000_000_000_001 }, ["chat_number_id"]],
    [{ chat_number_id: theirs.id }, ["chat_number_id"]],
  ];
  for (const [more, fields] of cases) {
    assert.deepEqual(failingFields(await add(more)), fields, JSON.stringify(more));
  }
  assert.deepEqual(failingFields(await send("POST", "", {})), [
    "chat_number_id",
    "name",
    "language",
    "category",
    "components",
  ]);
});

test("a name is unique per language and business account", async () => {
  const name = newName();
  assert.equal((await add({ name })).status, 201);
  assert.deepEqual(failingFields(await add({ name })), ["name"]);
  assert.equal((await add({ name, language: "de" })).status, 201);
  assert.equal((await add({ name, chat_number_id: number.id })).status, 201);
  assert.equal((await rowsOf(name)).length, 3);
});

test("a provider's rejection is reported with its reason, and nothing is stored", async () => {
  const name = newName();
  provider.failure = new ChatSendError("rejected", "a word is not allowed (2388073)", {
    code: 2_388_073,
  });
  const refused = await add({ name, chat_number_id: number.id });
  assert.deepEqual(refused.body.errors, [
    {
      field: "components",
      reason: "was rejected by the provider: a word is not allowed (2388073)",
    },
  ]);
  for (const failure of ["unreachable", "throttled", "unknown"] as const) {
    provider.failure = new ChatSendError(failure, "not now");
    assert.equal((await add({ name, chat_number_id: number.id })).status, 503);
    assert.deepEqual(await rowsOf(name), []);
  }
  provider.failure = null;
  assert.equal((await add({ name, chat_number_id: number.id })).status, 201);
});

test("stores a draft before it calls the provider, and holds no transaction open during the call", async () => {
  const name = newName();
  let seen: unknown[] = [];
  provider.meanwhile = async () => {
    seen = (await rowsOf(name)).map(({ status, provider_template_id }) => [
      status,
      provider_template_id,
    ]);
    const { rows } = await api.app.db.pool.query(
      "select pid from pg_stat_activity where datname = current_database() and state = 'idle in transaction'",
    );
    assert.deepEqual(rows, []);
  };
  const { status, body } = await add({ name, chat_number_id: number.id });
  provider.meanwhile = async () => {};
  assert.deepEqual([status, body.status], [201, "PENDING"]);
  assert.deepEqual(seen, [["PENDING", null]]);
});

test("what an event reports of a template before its submission is stored stays", async () => {
  const name = newName();
  provider.meanwhile = async () => {
    const [draft] = await rowsOf(name);
    const subject = { account_id: account.account_id, template_id: draft!.id };
    const change = { status: "APPROVED", category: "MARKETING", at: new Date() } as const;
    await api.app.db.query
      .transaction()
      .execute((tx) => setTemplateStatus(tx, subject, change, new Date()));
  };
  const { status, body } = await add({ name, chat_number_id: number.id });
  provider.meanwhile = async () => {};
  assert.deepEqual([status, body.status, body.category], [201, "APPROVED", "MARKETING"]);
  assert.notEqual(body.provider_template_id, null);
});

test("a draft left by a crash is submitted again with the content of the new request", async () => {
  const name = newName();
  const now = new Date();
  const { account_id } = account;
  await api.app.db.query
    .insertInto("chat_templates")
    .values({
      account_id,
      driver: "sandbox",
      business_account_id: sandbox.business_account_id,
      name,
      language: "en_US",
      category: "MARKETING",
      parameter_format: "POSITIONAL",
      components: "[]",
      status: "PENDING",
      created_at: now,
      updated_at: now,
    })
    .execute();
  assert.equal((await add({ name })).status, 201);
  const [row, ...more] = await rowsOf(name);
  assert.deepEqual([more.length, row?.category, row?.status], [0, "UTILITY", "APPROVED"]);
});

test("a template exists with its defaults once the provider has it, also if the write of its response is refused", async () => {
  const input = greeting() as unknown as NewTemplate;
  await submitTemplate(api.app, account.account_id, input);
  const [row] = await rowsOf(input.name);
  assert.ok(row?.provider_template_id);
  assert.deepEqual(row.variable_defaults, { "1": "there" });
  const { id } = (await send("GET", `?q=${input.name}`)).body.data[0];
  assert.equal(id, row.id);
});

test("two concurrent requests for one template create one template", async () => {
  const name = newName();
  const answers = await Promise.all([1, 2, 3, 4].map(() => add({ name })));
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
  assert.deepEqual(statuses, [201, 422, 422, 422]);
  const [row, ...more] = await rowsOf(name);
  assert.deepEqual([more.length, row?.status], [0, "APPROVED"]);
});

test("a repeated idempotency key returns the first response and submits nothing", async () => {
  const headers = { "idempotency-key": unique("key") };
  const asked = greeting({ chat_number_id: number.id });
  const first = await send("POST", "", asked, account, headers);
  const askedBefore = provider.requested.length;
  const again = await send("POST", "", asked, account, headers);
  assert.deepEqual([again.text, provider.requested.length], [first.text, askedBefore]);
});

test("a media ID that is set again keeps the time of its file, in the same template and in another", async (t) => {
  t.after(() => api.clock.set(new Date()));
  const id = unique("media");
  const setAt = async ({ name }: { readonly name: string }) =>
    (await rowsOf(name))[0]?.header_media_at?.getTime();
  const made = await add({ header_media: { id } });
  assert.equal(made.status, 201, made.text);
  const first = await setAt(made.body);
  api.clock.set(new Date(Date.now() + 20 * 86_400_000));
  const set = async (header_media: object) => {
    const { status, text } = await send("PATCH", `/${made.body.id}`, { header_media });
    assert.equal(status, 200, text);
  };
  await set({ id, filename: "a.pdf" });
  assert.equal(await setAt(made.body), first);
  const second = await add({ header_media: { id } });
  assert.equal(second.status, 201, second.text);
  assert.equal(await setAt(second.body), first);
  await set({ id: unique("media") });
  assert.equal(await setAt(made.body), api.clock.now().getTime());
});

test("a patch changes only defaults and media", async () => {
  const { id } = (await add()).body;
  const media = { id: "media-1" };
  const patched = await send("PATCH", `/${id}`, {
    variable_defaults: { "2": "you", button_0: "yes" },
    header_media: media,
  });
  assert.equal(patched.status, 200, patched.text);
  assert.deepEqual(patched.body.variable_defaults, { "2": "you", button_0: "yes" });
  assert.deepEqual(patched.body.header_media, media);
  assert.equal(
    patched.body.variables.find(({ key }: { key: string }) => key === "1").required,
    true,
  );
  const cleared = await send("PATCH", `/${id}`, { header_media: null });
  assert.deepEqual(
    [cleared.body.header_media, cleared.body.variable_defaults],
    [null, patched.body.variable_defaults],
  );
  for (const [json, fields] of [
    [{}, ["body"]],
    [{ variable_defaults: { "9": "x" } }, ["variable_defaults.9"]],
    [{ variable_defaults: null }, ["variable_defaults"]],
    [{ header_media: {} }, ["header_media"]],
    [{ header_media: { link: "ftp://a.example/x" } }, ["header_media.link"]],
    [{ components: [] }, ["components"]],
    [{ category: "MARKETING" }, ["category"]],
  ] as const) {
    assert.deepEqual(failingFields(await send("PATCH", `/${id}`, json)), fields);
  }
  assert.equal((await send("PATCH", `/${id}`, { header_media: null }, other)).status, 404);
});

test("deletes a template in all its languages, here and at the provider", async () => {
  const name = newName();
  const { id } = (await add({ name, chat_number_id: number.id })).body;
  await add({ name, chat_number_id: number.id, language: "de" });
  assert.equal((await send("DELETE", `/${id}`, undefined, other)).status, 404);
  provider.failure = new ChatSendError("unreachable", "away");
  assert.equal((await send("DELETE", `/${id}`)).status, 503);
  assert.equal((await rowsOf(name)).length, 2);
  provider.failure = null;
  assert.equal((await send("DELETE", `/${id}`)).status, 204);
  assert.deepEqual(await rowsOf(name), []);
  assert.ok(!provider.templates.some((one) => one.name === name));
});

test("never deletes templates at the provider after their business account went to another account", async () => {
  const former = await makeAccount(api.app);
  const bind = (by: TestAccount, phone_id: string) =>
    api.send("POST", "/api/v1/chat/numbers", {
      token: by.token,
      json: {
        name: "Shop",
        phone_number: "919876543210",
        driver: "whatsapp",
        provider_phone_number_id: phone_id,
        business_account_id: "moved-business",
      },
    });
  const { id: number_id } = (await bind(former, unique("pn"))).body;
  const name = newName();
  const kept = await send("POST", "", greeting({ name, chat_number_id: number_id }), former);
  const freed = await api.send("DELETE", `/api/v1/chat/numbers/${number_id}`, {
    token: former.token,
  });
  assert.equal(freed.status, 204);
  assert.equal((await bind(other, unique("pn"))).status, 201);
  assert.equal((await send("DELETE", `/${kept.body.id}`, undefined, former)).status, 204);
  assert.ok(provider.templates.some((one) => one.name === name));
  assert.equal((await send("GET", `/${kept.body.id}`, undefined, former)).status, 404);
});

test("deletes a template that the provider does not know", async () => {
  const id = await makeChatTemplate(api.app, account, sandbox);
  assert.equal((await send("DELETE", `/${id}`)).status, 204);
  const id2 = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  provider.failure = new ChatSendError("rejected", "no permission (200)", { code: 200 });
  assert.equal((await send("DELETE", `/${id2}`)).status, 422);
  provider.failure = null;
  assert.equal((await send("GET", `/${id2}`)).status, 200);
});

test("deletes a template of a business account that the provider does not know", async (t) => {
  const stub = await startProviderStub();
  const secrets = { access_token: "stub-token", app_secret: "s", verify_token: "v" };
  const meta = openMetaDriver({ api_url: stub.api_url, ...secrets });
  t.after(async () => {
    provider.meanwhile = async () => {};
    await meta.close();
    await stub.close();
  });
  const name = newName();
  const { body } = await add({ name, chat_number_id: number.id });
  provider.meanwhile = () => meta.deleteTemplate("999999", name);
  const deleted = await send("DELETE", `/${body.id}`);
  assert.equal(deleted.status, 204, deleted.text);
  assert.deepEqual(await rowsOf(name), []);
});

test("does not delete a template that an unfinished campaign or a flow uses", async () => {
  const asked = provider.requested.length;
  const id = await makeChatTemplate(api.app, account, number, { driver: "whatsapp" });
  await makeCredits(api.app, account, { chat: 1 });
  const recipients = [{ phone: "919876543210" }];
  const campaign = await makeChatCampaign(api.app, account, number, id, recipients);
  assert.equal((await send("DELETE", `/${id}`)).status, 409);
  await api.app.db.query
    .updateTable("chat_campaigns")
    .set({ state: "completed", finished_at: new Date() })
    .where("account_id", "=", account.account_id)
    .where("id", "=", campaign)
    .execute();
  const opening = { type: "template", template_id: id };
  const flow = await makeChatFlow(api.app, account, { opening });
  assert.equal((await send("DELETE", `/${id}`)).status, 409);
  await api.send("DELETE", `/api/v1/chat/flows/${flow}`, { token: account.token });
  const automation = await makeAutomationFlow(api.app, account, { opening });
  assert.equal((await send("DELETE", `/${id}`)).status, 409);
  await api.send("DELETE", `/api/v1/automation-flows/${automation}`, { token: account.token });
  assert.equal(provider.requested.length, asked);
  assert.equal((await send("DELETE", `/${id}`)).status, 204);
});

test("lists templates by ID across pages, filtered by status, category, language and name", async () => {
  const by = await makeAccount(api.app);
  const by_number = await makeChatNumber(api.app, by);
  const make = async (more: object) =>
    (await add({ chat_number_id: by_number.id, ...more }, by)).body.id as number;
  const ids = [
    await make({ name: "order_shipped" }),
    await make({ name: "pending_order", category: "MARKETING" }),
    await make({ name: "orderxshipped", language: "de" }),
    await make({ name: "welcome" }),
    await make({ name: "rejected_one" }),
  ];
  const found = async (query: string) => {
    const { body, text } = await send("GET", `?${query}`, undefined, by);
    assert.ok(body.data, text);
    return body.data.map(({ id }: { id: number }) => ids.indexOf(id)).join("");
  };
  assert.equal(await found(""), "01234");
  assert.equal(await found("status=APPROVED"), "023");
  assert.equal(await found("category=MARKETING"), "1");
  assert.equal(await found("language=de"), "2");
  assert.equal(await found("q=ORDER"), "012");
  assert.equal(await found("q=order_"), "0");
  assert.equal(await found("q=%25"), "");
  assert.equal(await found("q=order&status=APPROVED"), "02");
  const first = await send("GET", "?limit=3", undefined, by);
  assert.equal(await found(`limit=3&cursor=${first.body.next_cursor}`), "34");
  assert.deepEqual(failingFields(await send("GET", "?status=DONE&cursor=x")), ["status"]);
});

test("rejects a campaign whose template has no header media", async () => {
  await makeCredits(api.app, account, { chat: 10 });
  const { id } = (await add({ header_media: null, variable_defaults: { "1": "a", "2": "b" } }))
    .body;
  const campaign = () =>
    api.send("POST", "/api/v1/chat/campaigns", {
      token: account.token,
      headers: { "idempotency-key": unique("key") },
      json: {
        name: "Spring",
        chat_number_id: sandbox.id,
        template_id: id,
        contacts: [{ phone_number: "919876543210" }],
      },
    });
  const refused = await campaign();
  assert.deepEqual(failingFields(refused), ["template_id"]);
  assert.match(refused.body.errors[0].reason, /header_media/);
  await send("PATCH", `/${id}`, { header_media: { id: "media-1" } });
  assert.equal((await campaign()).status, 201);
});

test("treats null as omitted for optional fields of a new template", async () => {
  const nulls = { parameter_format: null, variable_defaults: null, header_media: null };
  const { status, body, text } = await add(nulls);
  assert.equal(status, 201, text);
  assert.deepEqual(
    [body.parameter_format, body.variable_defaults, body.header_media],
    ["POSITIONAL", {}, null],
  );
});
