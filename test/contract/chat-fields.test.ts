// Each field of a campaign: what it takes, and what it is refused for (contract 4.2, 7.1, 8).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeAutomationFlow,
  makeChatFlow,
  makeChatNumber,
  makeChatTemplate,
} from "../support/chat-factory.ts";
import { makeAccount, unique, type TestAccount } from "../support/account-factory.ts";
import { campaigns_path, startChatApi, uniquePhone, type ChatApi } from "./chat-api.ts";
import { assertProblem } from "./lead-api.ts";

let chat: ChatApi;
let other: TestAccount;

before(async () => {
  chat = await startChatApi();
  other = await makeAccount(chat.api.app);
});
after(() => chat.api.close());

const minute_ms = 60_000;
const soon = (minutes: number) => new Date(Date.now() + minutes * minute_ms).toISOString();

async function campaignOf(id: number) {
  return chat.api.app.db.query
    .selectFrom("chat_campaigns")
    .selectAll()
    .where("account_id", "=", chat.account.account_id)
    .where("id", "=", id)
    .executeTakeFirstOrThrow();
}

test("name takes up to 255 characters, counted as people do, and is required", async () => {
  for (const name of ["x", "é".repeat(255), "🎈".repeat(255)]) {
    const { status, body } = await chat.create(chat.body({ name }));
    assert.equal(status, 201);
    assert.equal(body.name, name);
  }
  for (const name of [undefined, null, "", "  ", "x".repeat(256), 1, ["x"]])
    await chat.refuse({ name }, "name");
});

test("chat_number_id is required and an active number of the account", async () => {
  const { app } = chat.api;
  const foreign = await makeChatNumber(app, other);
  const inactive = await makeChatNumber(app, chat.account, { active: false });
  for (const chat_number_id of [undefined, null, "1", 1.5, true, [1]])
    await chat.refuse({ chat_number_id }, "chat_number_id");
  const reasons = new Set<string | undefined>();
  for (const chat_number_id of [0, -1, 2 ** 53, 9e18, foreign.id, inactive.id])
    reasons.add((await chat.refuse({ chat_number_id }, "chat_number_id"))[0]);
  assert.equal(reasons.size, 1, "whose an id is must not show");
  await chat.refuse({ chat_number_id: 1e30 }, "chat_number_id");
});

test("template_id is an approved template of the account and of the number's business account", async () => {
  const { app } = chat.api;
  const foreignNumber = await makeChatNumber(app, other);
  const foreign = await makeChatTemplate(app, other, foreignNumber);
  const unknown = await chat.refuse({ template_id: 9e15 }, "template_id");
  assert.deepEqual(await chat.refuse({ template_id: foreign }, "template_id"), unknown);
  for (const status of ["PENDING", "REJECTED", "PAUSED", "DISABLED"] as const) {
    const template_id = await makeChatTemplate(app, chat.account, chat.number, { status });
    await chat.refuse({ template_id }, "template_id");
  }
  const elsewhere = await makeChatNumber(app, chat.account);
  const theirs = await makeChatTemplate(app, chat.account, elsewhere);
  await chat.refuse({ template_id: theirs }, "template_id");
  const driver = "whatsapp" as const;
  const otherDriver = await makeChatTemplate(app, chat.account, chat.number, { driver });
  await chat.refuse({ template_id: otherDriver }, "template_id");
  for (const template_id of ["1", 1.5, false]) await chat.refuse({ template_id }, "template_id");
});

test("flow_id is an active chat flow of the account, and its opening message is sent", async () => {
  const { app } = chat.api;
  const flow_id = await makeChatFlow(app, chat.account);
  const { status, body, text } = await chat.create(chat.body({ template_id: null, flow_id }));
  assert.equal(status, 201, text);
  const campaign = await campaignOf(body.id);
  assert.equal(campaign.flow_id, flow_id);
  assert.equal(campaign.template_id, null);
  assert.equal((campaign.plan as { kind: string }).kind, "interactive");
  const foreign = await makeChatFlow(app, other);
  const inactive = await makeChatFlow(app, chat.account, { active: false });
  for (const id of [0, 2 ** 60, foreign, inactive])
    await chat.refuse({ template_id: null, flow_id: id }, "flow_id");
  await chat.refuse({ template_id: null, flow_id: "1" }, "flow_id");
});

test("a flow that opens with a template is held to the template's rules", async () => {
  const { app } = chat.api;
  const opening = { type: "template", template_id: chat.template_id };
  const flow_id = await makeChatFlow(app, chat.account, { opening });
  const { body } = await chat.create(chat.body({ template_id: undefined, flow_id }));
  const campaign = await campaignOf(body.id);
  assert.equal((campaign.plan as { kind: string }).kind, "template");
  assert.equal(
    campaign.template_id,
    chat.template_id,
    "what holds the template holds the campaign",
  );
  const paused = await makeChatTemplate(app, chat.account, chat.number, { status: "PAUSED" });
  const broken = await makeChatFlow(app, chat.account, {
    opening: { type: "template", template_id: paused },
  });
  await chat.refuse({ template_id: null, flow_id: broken }, "flow_id");
});

test("automation_flow_id is the UUID of an active automation flow of the account, in any case", async () => {
  const { app } = chat.api;
  const id = await makeAutomationFlow(app, chat.account);
  for (const automation_flow_id of [id, id.toUpperCase()]) {
    const { status, body, text } = await chat.create(
      chat.body({ template_id: null, automation_flow_id }),
    );
    assert.equal(status, 201, text);
    assert.equal((await campaignOf(body.id)).automation_flow_id, id);
  }
  const foreign = await makeAutomationFlow(app, other);
  const inactive = await makeAutomationFlow(app, chat.account, { active: false });
  const odd = ["", "abc", `urn:uuid:${id}`, `{${id}}`, id.replaceAll("-", ""), 1];
  for (const automation_flow_id of [foreign, inactive, crypto.randomUUID(), ...odd])
    await chat.refuse({ template_id: null, automation_flow_id }, "automation_flow_id");
});

test("none or more than one of the three is 400, and null is as good as omitted", async () => {
  const { app } = chat.api;
  const flow_id = await makeChatFlow(app, chat.account);
  const automation_flow_id = await makeAutomationFlow(app, chat.account);
  const { template_id } = chat;
  const none = { template_id: null, flow_id: null, automation_flow_id: null };
  const count = await chat.campaignCount();
  for (const named of [
    none,
    { template_id: undefined },
    { template_id, flow_id },
    { template_id, automation_flow_id },
    { template_id: null, flow_id, automation_flow_id },
    { template_id, flow_id, automation_flow_id },
    // Whether they exist is another question.
    { template_id: 0, flow_id: 0 },
  ])
    assertProblem(await chat.create(chat.body(named)), 400, "bad-request");
  assert.equal(await chat.campaignCount(), count);
  for (const named of [{ template_id }, { flow_id }, { automation_flow_id }])
    assert.equal((await chat.create(chat.body({ ...none, ...named }))).status, 201);
});

test("contacts are objects of a phone_number and variables from text to text, and every violation has its path", async () => {
  const good = { phone_number: "919812345678" };
  const cases: [unknown, ...string[]][] = [
    ["x", "contacts"],
    [{ "0": good }, "contacts"],
    [[good, 1], "contacts.1"],
    [[null], "contacts.0"],
    [[[]], "contacts.0"],
    [[{}], "contacts.0.phone_number"],
    [[{ phone_number: null }], "contacts.0.phone_number"],
    [[{ phone_number: 919812345678 }], "contacts.0.phone_number"],
    [[{ ...good, variables: "x" }], "contacts.0.variables"],
    [[{ ...good, variables: [] }], "contacts.0.variables"],
    [
      [{ ...good, variables: { name: 1, ok: "x", none: null } }],
      "contacts.0.variables.name",
      "contacts.0.variables.none",
    ],
    [[{ ...good, variable: {} }], "contacts.0.variable"],
    [
      [good, {}, good, { ...good, variables: { name: true } }],
      "contacts.1.phone_number",
      "contacts.3.variables.name",
    ],
  ];
  for (const [contacts, ...fields] of cases) await chat.refuse({ contacts }, ...fields);
  const [reason] = await chat.refuse(
    { contacts: [{ ...good, variable: {} }] },
    "contacts.0.variable",
  );
  assert.match(reason!, /did you mean variables\?/);
});

test("variables are listed as they were sent, also under keys with line breaks", async () => {
  const variables = { "a\nb": "x", "a\r\nb": "y", "a\u2028b": "z", "\u2029": "", a: "b" };
  const contacts = [{ phone_number: uniquePhone(), variables }];
  const { status, body } = await chat.create(chat.body({ contacts }));
  assert.equal(status, 201);
  const { token } = chat.account;
  const listed = await chat.api.send("GET", `${campaigns_path}/${body.id}/recipients`, { token });
  assert.deepEqual(listed.body.data[0].variables, variables);
});

test("a bad phone_number is trimmed and never 422; unknown variables are ignored", async () => {
  const variables = { "1": "Ada", unheard_of: "x" };
  const contacts = ["", "abc", "12", uniquePhone()].map((phone_number) => ({
    phone_number,
    variables,
  }));
  const { status, body } = await chat.create(chat.body({ contacts }));
  assert.equal(status, 201);
  assert.equal(body.total_contacts, 1);
});

test("a future scheduled_at schedules: the campaign waits, and a job will start it", async () => {
  const scheduled_at = "2099-01-31T15:00:00.250+05:30";
  const { status, body, text } = await chat.create(chat.body({ scheduled_at }));
  assert.equal(status, 201, text);
  assert.equal(body.status, "scheduled");
  assert.equal(body.scheduled_at, "2099-01-31T09:30:00.250Z");
  assert.equal(body.pending_count, 1);
  const campaign = await campaignOf(body.id);
  assert.equal(campaign.state, "scheduled");
  assert.equal(campaign.started_at, null);
  assert.equal(campaign.work_at.toISOString(), body.scheduled_at);
  const { rows } = await chat.api.app.db.pool.query(
    "select kind, run_at from jobs where account_id = $1 and subject = $2",
    [chat.account.account_id, String(body.id)],
  );
  assert.deepEqual(rows, [{ kind: "chat.start_campaign", run_at: new Date(body.scheduled_at) }]);
});

test("scheduled_at without an offset is local to the account's zone", async () => {
  const { db } = chat.api.app;
  const set = (time_zone: string) =>
    chat.api.send("PATCH", "/api/v1/account", { token: chat.account.token, json: { time_zone } });
  await set("Asia/Kolkata");
  const { body } = await chat.create(chat.body({ scheduled_at: "2099-01-31 15:00" }));
  await set("UTC");
  assert.equal(body.scheduled_at, "2099-01-31T09:30:00.000Z");
  assert.ok(db);
});

test("omitted, null and about now all send now, and scheduled_at is null", async () => {
  for (const scheduled_at of [undefined, null, soon(-0.5), soon(0), soon(0.9)]) {
    const { status, body, text } = await chat.create(chat.body({ scheduled_at }));
    assert.equal(status, 201, text);
    assert.equal(body.scheduled_at, null);
    assert.equal(body.status, "running");
  }
});

test("a scheduled_at that is past, empty or not a time is 422", async () => {
  const odd = [
    "",
    "tomorrow",
    "2099-02-30T00:00:00Z",
    "2099-01-31",
    "1700000000",
    1_700_000_000,
    true,
  ];
  for (const scheduled_at of [soon(-2), "2020-01-01T00:00:00Z", ...odd])
    await chat.refuse({ scheduled_at }, "scheduled_at");
});

test("mm_lite is followed only for a marketing template of an onboarded number, and the reason is kept", async () => {
  const { app } = chat.api;
  const onboarded = await makeChatNumber(app, chat.account, { marketing_onboarded: true });
  const marketing = { category: "MARKETING" } as const;
  const plain = await makeChatTemplate(app, chat.account, onboarded);
  const promotion = await makeChatTemplate(app, chat.account, onboarded, marketing);
  const elsewhere = await makeChatTemplate(app, chat.account, chat.number, marketing);
  const flow_id = await makeChatFlow(app, chat.account);
  const routeOf = async (more: Record<string, unknown>) => {
    const { status, body, text } = await chat.create(chat.body(more));
    assert.equal(status, 201, text);
    return (await campaignOf(body.id)).mm_lite;
  };
  const chat_number_id = onboarded.id;
  const mm_lite = true;
  const asked = (reason: string | null) => ({ requested: true, used: reason === null, reason });
  const not = { requested: false, used: false, reason: null };
  assert.deepEqual(await routeOf({ chat_number_id, template_id: promotion, mm_lite }), asked(null));
  assert.deepEqual(await routeOf({ chat_number_id, template_id: promotion }), not);
  assert.deepEqual(await routeOf({ chat_number_id, template_id: promotion, mm_lite: null }), not);
  assert.deepEqual(
    await routeOf({ chat_number_id, template_id: plain, mm_lite }),
    asked("template_not_marketing"),
  );
  assert.deepEqual(
    await routeOf({ template_id: elsewhere, mm_lite }),
    asked("number_not_onboarded"),
  );
  assert.deepEqual(await routeOf({ template_id: null, flow_id, mm_lite }), asked("no_template"));
  for (const odd of ["true", 1, {}]) await chat.refuse({ mm_lite: odd }, "mm_lite");
});

test("unknown fields are named, with what was probably meant", async () => {
  const [reason] = await chat.refuse({ schedulled_at: soon(5) }, "schedulled_at");
  assert.equal(reason, "unknown field; did you mean scheduled_at?");
  const [listed] = await chat.refuse({ contacts: undefined, contacs: [] }, "contacs");
  assert.equal(listed, "unknown field; did you mean contacts?");
});

test("reports every invalid field of the shape at once, and at most 100", async () => {
  const contacts = Array.from({ length: 150 }, () => ({ phone_number: 1 }));
  const answer = await chat.create(
    chat.body({ name: 1, mm_lite: "x", scheduled_at: "x", contacts }),
  );
  assertProblem(answer, 422, "validation-failed");
  const fields = answer.body.errors.map(({ field }: { field: string }) => field);
  assert.equal(fields.length, 100);
  assert.deepEqual(fields.slice(0, 5), [
    "name",
    "mm_lite",
    "scheduled_at",
    "contacts.0.phone_number",
    "contacts.1.phone_number",
  ]);
});

test("reports every invalid field at once", async () => {
  const scheduled_at = "2020-01-01T00:00:00Z";
  await chat.refuse(
    { chat_number_id: 0, template_id: 0, scheduled_at },
    "chat_number_id",
    "template_id",
    "scheduled_at",
  );
});

test("integers beyond 64 bits, NUL, lone surrogates, absurd nesting and other shapes are 422", async () => {
  const raw = async (text: string) => {
    const headers = { "content-type": "application/json", "idempotency-key": unique("key") };
    return chat.api.send("POST", campaigns_path, { token: chat.account.token, raw: text, headers });
  };
  const contact = (text: string) => `{"contacts":[{"phone_number":${text}}]}`;
  for (const text of [
    `{"chat_number_id":9223372036854775808}`,
    `{"name":"\\u0000"}`,
    contact('"\\u0000"'),
    contact('"\\ud800"'),
    contact('"1","variables":{"\\udc00":"x"}'),
    `{"contacts":${"[".repeat(100_000)}`,
    "[]",
    "1",
    '"x"',
    "null",
  ])
    assertProblem(await raw(text), 422, "validation-failed");
});
