// Campaigns whose bodies are large: what they cost, what they are refused for, and that they are
// trimmed and paid for as a simple model says (contract 4.2 rules 3 and 4).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import fc from "fast-check";
import { openPhoneReader } from "../../server/lib/chat-phone-numbers.ts";
import { checkLedger } from "../support/check-invariants.ts";
import { makeSuppression } from "../support/chat-factory.ts";
import { makeCredits, unique } from "../support/account-factory.ts";
import { campaigns_path, startChatApi, type ChatApi } from "./chat-api.ts";
import { assertProblem } from "./lead-api.ts";

let chat: ChatApi;

before(async () => {
  chat = await startChatApi({ credit: 10_000_000 });
});
after(async () => {
  await checkLedger(chat.api.app.db.pool);
  await chat.api.close();
});

const contactsOf = (count: number, from = 919_840_000_000) =>
  Array.from({ length: count }, (_, i) => ({
    phone_number: String(from + i),
    variables: { "1": `Person ${i}`, city: "Pune \\ \t 🎈" },
  }));

const sendRaw = (raw: string | Buffer) =>
  chat.api.send("POST", campaigns_path, {
    token: chat.account.token,
    raw,
    headers: { "content-type": "application/json", "idempotency-key": unique("key") },
  });

test("a body of 100,000 recipients is one campaign, its rows in their order, but for the suppressed", async () => {
  const contacts = contactsOf(100_000);
  const { db } = chat.api.app;
  // A planner without statistics would compare each of them with every recipient.
  await db.pool.query(
    `insert into suppressions
       (account_id, person_key, phone, channel, scope, reason, source, occurred_at, created_at)
     select $1, phone, phone, 'chat', 'all', 'test', 'manual', now(), now()
     from (select (919840000000 + 99000 + i)::text as phone from generate_series(0, 1999) i) p`,
    [chat.account.account_id],
  );
  const { status, body, text } = await chat.create(chat.body({ contacts }));
  assert.equal(status, 201, text);
  assert.equal(body.total_contacts, 99_000);
  const { rows } = await db.pool.query(
    `select count(*) as count, count(*) filter (where phone <> (919840000000 + position - 1)::text
       or variables is distinct from jsonb_build_object('1', 'Person ' || position - 1, 'city', $3::text)) as wrong
     from (select phone, variables, row_number() over (order by id) as position
       from chat_recipients where account_id = $1 and campaign_id = $2) r`,
    [chat.account.account_id, body.id, contacts[0]!.variables.city],
  );
  assert.deepEqual(rows, [{ count: 99_000, wrong: 0 }]);
});

test("more than 100,000 recipients are 422 on contacts, and nothing is created", async () => {
  const count = await chat.campaignCount();
  const reasons = await chat.refuse({ contacts: contactsOf(100_001) }, "contacts");
  assert.deepEqual(reasons, ["must have at most 100000 entries"]);
  assert.equal(await chat.campaignCount(), count);
});

test("a body of more than 64 MB is 413", async () => {
  const answer = await sendRaw(Buffer.alloc(64 * 1_048_576 + 1, " "));
  assertProblem(answer, 413, "body-too-large");
  assert.ok(answer.headers.has("ratelimit-limit"));
});

test("large bodies get the same errors: shape, JSON, UTF-8, credit, and no recipient left", async () => {
  const good = contactsOf(9_000);
  const at = (i: number, contact: unknown) => good.with(i, contact as never);
  await chat.refuse({ contacts: at(8_999, { phone_number: 1 }) }, "contacts.8999.phone_number");
  await chat.refuse({ contacts: at(5, null), name: 1 }, "name", "contacts.5");
  const text = JSON.stringify(chat.body({ contacts: good }));
  assertProblem(await sendRaw(text.slice(0, -2)), 400, "bad-request");
  assertProblem(
    await sendRaw(Buffer.concat([Buffer.from(text), Buffer.of(0xff)])),
    400,
    "bad-request",
  );
  const unusable = good.map(() => ({ phone_number: "x".repeat(40) }));
  assertProblem(await chat.create(chat.body({ contacts: unusable })), 400, "bad-request");
  const poor = await startChatApi({ credit: 8_999 });
  assertProblem(await poor.create(poor.body({ contacts: good })), 409, "insufficient-credit");
  await makeCredits(poor.api.app, poor.account, { chat: 1 });
  assert.equal((await poor.create(poor.body({ contacts: good }))).status, 201);
  await poor.api.close();
});

test("hostile bodies of many megabytes are refused, and the server lives and answers", async () => {
  const megabytes = (unit: string, count: number) => unit.repeat((count * 1_048_576) / unit.length);
  const bodies = [
    `{"contacts":[${megabytes("[],", 24)}1]}`,
    `{"contacts":[${megabytes("{},", 24)}1]}`,
    `{"contacts":[{"phone_number":"1","variables":{${megabytes('"a":1,', 24)}"b":2}}]}`,
    `{"name":[${megabytes("0,", 20)}1]}`,
    `{${megabytes('"a":0,', 20)}"b":1}`,
    megabytes("[", 20),
    `{"contacts":["${megabytes("x", 40)}"]}`,
  ];
  for (const raw of bodies) assertProblem(await sendRaw(raw), 422, "validation-failed");
  const noJson = `{"contacts":[${megabytes(",", 20)}]}`;
  assertProblem(await sendRaw(noJson), 400, "bad-request");
  assert.equal((await chat.create(chat.body())).status, 201);
});

test("random lists are trimmed, counted and paid for as a simple model says, small and large", async () => {
  const { app } = chat.api;
  const { account_id } = chat.account;
  const read = openPhoneReader({ valid_only: false });
  const base = 919_860_000_000;
  const suppressed = new Set(Array.from({ length: 40 }, (_, i) => String(base + i * 5)));
  for (const phone of suppressed) await makeSuppression(app, chat.account, phone);
  const digits = fc.integer({ min: 0, max: 400 }).map((n) => String(base + n));
  const spelt = digits.map((text) => `+${text.slice(0, 2)} (${text.slice(2, 7)}) ${text.slice(7)}`);
  const phone_number = fc.oneof(
    { weight: 5, arbitrary: digits },
    { weight: 2, arbitrary: spelt },
    { weight: 1, arbitrary: fc.string({ unit: "grapheme" }) },
  );
  const contact = fc.record(
    { phone_number, variables: fc.dictionary(fc.string(), fc.string(), { maxKeys: 2 }) },
    { requiredKeys: ["phone_number"] },
  );
  // As if there were a padding: above 256 kB the same list goes another way.
  const padding = fc.constantFrom(0, 0, 0, 300_000);
  const lists = fc.array(contact, { maxLength: 300, size: "max" });
  await fc.assert(
    fc.asyncProperty(lists, padding, async (sent, bytes) => {
      const contacts = JSON.parse(JSON.stringify(sent).replaceAll("\\u0000", "")) as typeof sent;
      const valid = contacts.map((one) => read(one.phone_number)).filter((one) => one !== null);
      const distinct = [...new Set(valid)];
      const kept = distinct.filter((phone) => !suppressed.has(phone));
      const body = JSON.stringify(chat.body({ contacts }));
      const spaces = " ".repeat(bytes / 5);
      const answer = await sendRaw(
        spaces + body.replace('"contacts":[', (list) => list + spaces.repeat(4)),
      );
      if (kept.length === 0) return assertProblem(answer, 400, "bad-request");
      assert.equal(answer.status, 201, answer.text);
      const { id, total_contacts, pending_count } = answer.body;
      assert.equal(total_contacts, kept.length);
      assert.equal(pending_count, kept.length);
      assert.deepEqual(
        (await chat.recipients(id)).map(({ phone }) => phone),
        kept,
      );
      const { rows } = await app.db.pool.query(
        `select c.trimmed, c.total, n.queued, t.amount from chat_campaigns c
         join chat_counts n on n.account_id = c.account_id and n.campaign_id = c.id
         join credit_transfers t on t.account_id = c.account_id and t.reservation_id = c.reservation_id
         where c.account_id = $1 and c.id = $2`,
        [account_id, id],
      );
      const trimmed = {
        invalid: contacts.length - valid.length,
        duplicate: valid.length - distinct.length,
        blacklisted: distinct.length - kept.length,
      };
      const total = kept.length;
      assert.deepEqual(rows, [{ trimmed, total, queued: total, amount: total }]);
    }),
    { numRuns: 30 },
  );
});
