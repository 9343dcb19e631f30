import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  campaigns_path,
  startChatApi,
  uniquePhone,
  type ChatApi,
} from "../../../test/contract/chat-api.ts";
import { assertProblem } from "../../../test/contract/lead-api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeChatNumber,
  makeChatTemplate,
  makeSuppression,
} from "../../../test/support/chat-factory.ts";

let chat: ChatApi;

before(async () => {
  chat = await startChatApi({ credit: 100 });
});
after(() => chat.api.close());

const preview = (json: unknown, of = chat) =>
  of.api.send("POST", `${campaigns_path}/preview`, { token: of.account.token, json });

test("a preview says who would be trimmed and why, the cost and the first message, and creates nothing", async () => {
  const suppressed = uniquePhone();
  await makeSuppression(chat.api.app, chat.account, suppressed);
  const contacts = [
    { phone_number: suppressed },
    { phone_number: "no number" },
    { phone_number: "+91 98900 00001", variables: { "1": "Ada" } },
    { phone_number: "919890000001" },
    { phone_number: "919890000002" },
  ];
  const count = await chat.campaignCount();
  const { status, body, text } = await preview(chat.body({ contacts, mm_lite: true }));
  assert.equal(status, 200, text);
  const { starts_at, finishes_at, sample, samples, ...rest } = body;
  assert.deepEqual(rest, {
    total_contacts: 2,
    trimmed: { invalid: 1, duplicate: 1, blacklisted: 1 },
    trimmed_samples: [
      { phone_number: "no number", reason: "invalid" },
      { phone_number: "919890000001", reason: "duplicate" },
      { phone_number: suppressed, reason: "blacklisted" },
    ],
    credits: { needed: 2, available: 100, sufficient: true },
    mm_lite: { requested: true, used: false, reason: "template_not_marketing" },
  });
  assert.ok(Date.parse(finishes_at) - Date.parse(starts_at) < 1_000);
  assert.equal(sample.phone_number, "919890000001");
  assert.deepEqual(sample.message.body, [{ text: "Ada" }]);
  assert.deepEqual(sample.missing, []);
  assert.deepEqual(samples[0], sample);
  const shown = samples.map(({ phone_number }: typeof sample) => phone_number);
  assert.deepEqual(shown, ["919890000001", "919890000002"]);
  assert.equal(await chat.campaignCount(), count);
});

test("only credit does not refuse a preview: it says that it is short", async () => {
  const contacts = Array.from({ length: 101 }, () => ({ phone_number: uniquePhone() }));
  const { status, body } = await preview(chat.body({ contacts }));
  assert.equal(status, 200);
  assert.deepEqual(body.credits, { needed: 101, available: 100, sufficient: false });
});

test("a preview is refused for what the campaign would be refused for", async () => {
  assertProblem(await preview(chat.body({ template_id: null })), 400, "bad-request");
  assertProblem(await preview(chat.body({ contacts: [] })), 400, "bad-request");
  const invalid = await preview(chat.body({ contacts: [{ phone_number: "9876543210" }] }));
  assertProblem(invalid, 400, "bad-request");
  assert.equal(
    invalid.body.detail,
    "No valid contacts remain: 1 no possible phone number with its country code",
  );
  const shape = await preview(chat.body({ name: 1, contacts: [{}], scheduled_at: "x" }));
  assert.deepEqual(failingFields(shape), ["name", "scheduled_at", "contacts.0.phone_number"]);
  assert.deepEqual(failingFields(await preview(chat.body({ chat_number_id: 0, template_id: 0 }))), [
    "chat_number_id",
    "template_id",
  ]);
});

test("the end goes by the number's rate and what waits on the number already", async () => {
  const own = await startChatApi({ credit: 1_000 });
  const { app } = own.api;
  const number = await makeChatNumber(app, own.account, { rate_per_second: 10 });
  const template_id = await makeChatTemplate(app, own.account, number);
  own.api.clock.set(new Date());
  const contacts = Array.from({ length: 200 }, () => ({ phone_number: uniquePhone() }));
  const body = own.body({ chat_number_id: number.id, template_id, contacts });
  const lasts = async (json: unknown) => {
    const { starts_at, finishes_at } = (await preview(json, own)).body;
    return [starts_at, (Date.parse(finishes_at) - Date.parse(starts_at)) / 1_000];
  };
  const now = own.api.clock.now().toISOString();
  assert.deepEqual(await lasts(body), [now, 20]);
  assert.equal((await own.create(body)).status, 201);
  assert.deepEqual(await lasts(body), [now, 40]);
  const later = "2099-01-31T09:30:00.000Z";
  assert.deepEqual(await lasts({ ...body, scheduled_at: later }), [later, 20]);
  await own.api.close();
});

test("variables that are missing for the first recipient are named", async () => {
  const { app } = chat.api;
  const template_id = await makeChatTemplate(app, chat.account, chat.number, {
    variable_defaults: {},
  });
  const contacts = [{ phone_number: uniquePhone(), variables: { other: "x" } }];
  const { body } = await preview(chat.body({ template_id, contacts }));
  assert.deepEqual([body.sample.message, body.sample.missing], [null, ["1"]]);
});

test("a preview of 100,000 recipients is read beside the server's own thread", async () => {
  const contacts = Array.from({ length: 100_000 }, (_, i) => ({
    phone_number: String(919_891_000_000 + i),
  }));
  const { status, body, text } = await preview(chat.body({ contacts }));
  assert.equal(status, 200, text);
  assert.equal(body.total_contacts, 100_000);
});
