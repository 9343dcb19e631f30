import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { parse } from "csv-parse/sync";
import { startApi, type Answer, type TestApi } from "../../../test/support/api.ts";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  makeAccount,
  makeAgentToken,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { suppress, type Suppression } from "./suppress.ts";
import { liftSuppressions, type Lifting } from "./lift-suppressions.ts";
import { linkBsuids } from "./link-bsuids.ts";
import type { Person } from "./person-key.ts";
import {
  call_outreach,
  isSuppressed,
  messageOutreach,
  suppressedAmong,
  wasSuppressedSince,
  type Outreach,
} from "./suppressions.ts";

let api: TestApi;
let account: TestAccount;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
});
after(() => api.close());

const path = "/api/v1/suppressions";
const add = (json: unknown, of = account, headers: Record<string, string> = {}) =>
  api.send("POST", path, { token: of.token, json, headers });
const list = async (query = "", of = account) =>
  (await api.send("GET", `${path}?${query}`, { token: of.token })).body.data as Answer["body"][];
const remove = (id: number | string, of = account) =>
  api.send("DELETE", `${path}/${id}`, { token: of.token });

let taken = 0;
/** Returns a ten-digit number that no other test uses. */
const newPhone = () => `98${String(++taken).padStart(8, "0")}`;

const started_ms = Date.now();
/** Returns the time this many hours after the tests started. */
const hours = (count: number) => new Date(started_ms + count * 3_600_000);

/** Calls suppress in its own transaction. */
const suppressed = (
  of: TestAccount,
  { phone = "919876543210", ...more }: Partial<Suppression> & { phone?: string },
) =>
  api.app.db.query.transaction().execute((tx) =>
    suppress(
      tx,
      {
        account_id: of.account_id,
        person: { phone },
        channel: "chat",
        scope: "all",
        source: "reply",
        reason: "STOP",
        evidence: null,
        occurred_at: api.clock.now(),
        expires_at: null,
        created_by: null,
        ...more,
      },
      api.clock.now(),
    ),
  );

test("a suppression is added with its defaults, listed and removed", async () => {
  const phone = newPhone();
  const { status, body } = await add({ phone_number: phone });
  assert.equal(status, 201);
  const { id, created_at, ...rest } = body;
  assert.deepEqual(rest, {
    phone_number: `91${phone}`,
    bsuid: null,
    channel: "all",
    scope: "all",
    reason: "manual",
    source: "manual",
    occurred_at: created_at,
    evidence: null,
    expires_at: null,
    active: true,
    created_by: account.owner_id,
  });
  const age_ms = api.clock.now().getTime() - Date.parse(created_at);
  assert.ok(age_ms >= 0 && age_ms < 60_000, created_at);
  assert.deepEqual(await list(`phone_number=${phone}`), [body]);
  const removed = await remove(id);
  assert.deepEqual([removed.status, removed.text], [204, ""]);
  assert.equal((await remove(id)).status, 404);
  assert.deepEqual(await list(`phone_number=${phone}`), []);
});

test("every field is stored as sent, and times are read in the account's time zone", async () => {
  const of = await makeAccount(api.app);
  await api.send("PATCH", "/api/v1/account", {
    token: of.token,
    json: { time_zone: "Asia/Kolkata" },
  });
  const json = {
    phone_number: newPhone(),
    channel: "voice",
    scope: "marketing",
    reason: "asked by phone",
    expires_at: "2099-01-01T05:30:00",
  };
  const { body } = await add(json, of);
  assert.deepEqual(
    [body.channel, body.scope, body.reason, body.expires_at],
    ["voice", "marketing", "asked by phone", "2099-01-01T00:00:00.000Z"],
  );
});

test("ten digits are a national number, and a number with + includes its country code", async () => {
  const written: [string, string][] = [
    ["4712345678", "914712345678"],
    ["+4712345678", "4712345678"],
    ["09876543210", "919876543210"],
    ["+91 (98765) 43-210", "919876543210"],
    ["919876543210", "919876543210"],
    ["00919876543210", "919876543210"],
    ["14155552671", "14155552671"],
  ];
  const of = await makeAccount(api.app);
  for (const [phone_number, digits] of written) {
    const { body } = await add({ phone_number }, of);
    assert.equal(body.phone_number, digits, phone_number);
  }
  assert.equal((await list("phone_number=%2B4712345678", of)).length, 1);
  // An unescaped plus arrives as a space.
  assert.equal((await list("phone_number=+4712345678", of)).length, 1);
});

test("reports every invalid field at once and stores nothing", async () => {
  const of = await makeAccount(api.app);
  const cases: [unknown, string[]][] = [
    [{}, ["phone_number"]],
    [{ phone_number: null }, ["phone_number"]],
    [{ phone_number: 9876543210 }, ["phone_number"]],
    [{ phone_number: "" }, ["phone_number"]],
    [{ phone_number: "98765" }, ["phone_number"]],
    [{ phone_number: "1".repeat(251) }, ["phone_number"]],
    [{ phone_number: "9876543210", channel: "sms" }, ["channel"]],
    [{ phone_number: "9876543210", scope: "otp" }, ["scope"]],
    [{ phone_number: "9876543210", reason: "r".repeat(256) }, ["reason"]],
    [{ phone_number: "9876543210", reason: 1 }, ["reason"]],
    [{ phone_number: "9876543210", expires_at: "tomorrow" }, ["expires_at"]],
    [{ phone_number: "9876543210", expires_at: "" }, ["expires_at"]],
    [{ phone_number: "9876543210", expires_at: "2020-01-01T00:00:00Z" }, ["expires_at"]],
    [{ phone_number: "9876543210", expire_at: null }, ["expire_at"]],
    [
      { phone_number: "x", channel: "sms", expires_at: "x" },
      ["channel", "expires_at", "phone_number"],
    ],
  ];
  for (const [json, fields] of cases) {
    assert.deepEqual(failingFields(await add(json, of)).toSorted(), fields, JSON.stringify(json));
  }
  assert.deepEqual(await list("", of), []);
  for (const query of [
    "phone_number=12",
    "channel=sms",
    "scope=otp",
    "source=me",
    "active=maybe",
    "cursor=x",
  ]) {
    const answer = await api.send("GET", `${path}?${query}`, { token: of.token });
    assert.deepEqual(failingFields(answer), [query.split("=")[0]]);
  }
});

test("adding a number again extends its suppression and never shortens it", async () => {
  const phone_number = newPhone();
  const at = (expires_at: Date | null, reason: string) =>
    add({ phone_number, channel: "chat", reason, expires_at: expires_at?.toISOString() ?? null });
  const first = await at(hours(2), "first");
  const shorter = await at(hours(1), "shorter");
  assert.deepEqual([shorter.status, shorter.body], [201, first.body]);
  const longer = await at(hours(3), "longer");
  assert.deepEqual(
    [longer.body.id, longer.body.reason, longer.body.expires_at],
    [first.body.id, "longer", hours(3).toISOString()],
  );
  const forever = await at(null, "for ever");
  assert.deepEqual([forever.body.reason, forever.body.expires_at], ["for ever", null]);
  for (const again of [await at(null, "again"), await at(hours(9), "shorter")])
    assert.deepEqual(again.body, forever.body);
  // The same number on another channel or in another scope is another suppression.
  const voice = await add({ phone_number, channel: "voice" });
  const marketing = await add({ phone_number, channel: "chat", scope: "marketing" });
  assert.equal(new Set([first, voice, marketing].map(({ body }) => body.id)).size, 3);
});

test("each source has its own suppression, with its time and evidence", async () => {
  const of = await makeAccount(api.app);
  const evidence = { message_id: "wamid.1", text: "STOP" };
  const occurred_at = hours(-2);
  assert.equal(await suppressed(of, { evidence, occurred_at }), true);
  const { body } = await add(
    { phone_number: "9876543210", channel: "chat", expires_at: hours(1).toISOString() },
    of,
  );
  assert.deepEqual([body.source, body.reason], ["manual", "manual"]);
  assert.equal(await suppressed(of, { source: "auto_block", expires_at: hours(1) }), true);
  const rows = await list("", of);
  assert.deepEqual(
    rows.map(({ source }) => source),
    ["auto_block", "manual", "reply"],
  );
  assert.deepEqual(
    [rows[2]!.evidence, rows[2]!.occurred_at, rows[2]!.expires_at],
    [evidence, occurred_at.toISOString(), null],
  );
});

const is_utility = messageOutreach("UTILITY");

const lift = (of: TestAccount, occurred_at: Date, more: Partial<Lifting> = {}) =>
  api.app.db.query.transaction().execute((tx) =>
    liftSuppressions(
      tx,
      {
        account_id: of.account_id,
        person: { phone: "919876543210" },
        channel: "chat",
        source: "reply",
        occurred_at,
        ...more,
      },
      api.clock.now(),
    ),
  );

/** Links the WhatsApp user ID and the phone of these tests, as a webhook with both does. */
const linked = (of: TestAccount, bsuid: string) =>
  api.app.db.query
    .transaction()
    .execute((tx) =>
      linkBsuids(tx, of.account_id, [{ bsuid, phone: "919876543210" }], api.clock.now()),
    );

const isStopped = (of: TestAccount, person: Person = { phone: "919876543210" }) =>
  isSuppressed(api.app.db.pool, of.account_id, is_utility, person, api.clock.now());

test("lifting a source lifts its own requests up to that time, and no other source's", async () => {
  const of = await makeAccount(api.app);
  await suppressed(of, { occurred_at: hours(-5) });
  await suppressed(of, { source: "provider", occurred_at: hours(-5) });
  assert.equal(await lift(of, hours(-6)), false, "older than the request");
  assert.equal((await list("", of)).length, 2);
  assert.equal(await lift(of, hours(-4)), true);
  assert.deepEqual(
    (await list("", of)).map(({ source }) => source),
    ["provider"],
  );
  assert.equal(await isStopped(of), true);
  assert.equal(await lift(of, hours(-4), { source: "provider" }), true);
  assert.equal(await isStopped(of), false);
  // The time of the last request counts, although an earlier one is in force.
  assert.equal(await suppressed(of, { occurred_at: hours(-3) }), true);
  assert.equal(await suppressed(of, { occurred_at: hours(-1) }), false);
  assert.equal(await lift(of, hours(-2)), false);
  assert.equal(await isStopped(of), true);
});

test("a request that is older than the lifting has no effect, even if it arrives first after it", async () => {
  const of = await makeAccount(api.app);
  assert.equal(await lift(of, hours(-1)), false);
  for (const scope of ["all", "marketing"] as const)
    assert.equal(await suppressed(of, { scope, occurred_at: hours(-2) }), false);
  assert.deepEqual(await list("", of), []);
  assert.equal(await suppressed(of, { occurred_at: hours(0) }), true);
  assert.equal((await list("", of)).length, 1);
});

test("a stop after the last known one counts, even if it happened before a user removed that one", async () => {
  const of = await makeAccount(api.app);
  const first = { occurred_at: hours(-5) };
  await suppressed(of, first);
  const [{ id }] = await list("", of);
  assert.equal((await remove(id, of)).status, 204);
  assert.equal(await suppressed(of, first), false, "the same one again");
  assert.equal(await isStopped(of), false);
  assert.equal(await suppressed(of, { occurred_at: hours(-4) }), true);
  assert.equal(await isStopped(of), true);
});

test("an answer to a message is stopped by a suppression of the minute before it, unless the time is the provider's", async () => {
  const of = await makeAccount(api.app);
  const since = new Date(started_ms);
  const person = { phone: "919876543210" };
  const wasStopped = () =>
    wasSuppressedSince(api.app.db.pool, of.account_id, person, { since, now: since });
  const ago = (seconds: number) => new Date(started_ms - seconds * 1_000);
  await suppressed(of, { occurred_at: ago(3) });
  await suppressed(of, { source: "import", occurred_at: ago(90) });
  assert.equal(await wasStopped(), false);
  await suppressed(of, { source: "manual", occurred_at: ago(3) });
  assert.equal(await wasStopped(), true);
});

test("a suppression under a WhatsApp user ID also blocks the phone as soon as it is known", async () => {
  const of = await makeAccount(api.app);
  const bsuid = "IN.123";
  const person = { phone: null, bsuid };
  const known = { phone: "919876543210" };
  const link = () =>
    api.app.db.query
      .transaction()
      .execute((tx) => linkBsuids(tx, of.account_id, [{ bsuid, ...known }], api.clock.now()));
  assert.equal(await suppressed(of, { person, evidence: { text: "STOP" } }), true);
  assert.deepEqual([await isStopped(of, person), await isStopped(of, known)], [true, false]);
  await link();
  await link();
  assert.deepEqual([await isStopped(of, person), await isStopped(of, known)], [true, true]);
  const [row, ...more] = await list("phone_number=9876543210", of);
  assert.deepEqual(
    [row.bsuid, row.phone_number, row.evidence],
    [bsuid, known.phone, { text: "STOP" }],
  );
  assert.deepEqual(more, []);
  // A later request under the ID alone is the phone's.
  assert.equal(await lift(of, api.clock.now(), { person }), true);
  assert.deepEqual([await isStopped(of, person), await isStopped(of, known)], [false, false]);
});

test("a suppression that a user removed before the phone of its WhatsApp user ID was known lifts no other of the phone", async () => {
  const of = await makeAccount(api.app);
  const marketing = { scope: "marketing", occurred_at: hours(-6) } as const;
  const removed = { person: { phone: null, bsuid: "IN.125" }, occurred_at: hours(-2) };
  await suppressed(of, { occurred_at: hours(-5) });
  await suppressed(of, marketing);
  await suppressed(of, removed);
  const [newest] = await list("", of);
  assert.equal(newest.bsuid, "IN.125");
  assert.equal((await remove(newest.id, of)).status, 204);
  await linked(of, "IN.125");
  assert.equal(await isStopped(of), true);
  assert.deepEqual(
    (await list("", of)).map(({ scope, occurred_at }) => [scope, occurred_at]),
    [
      ["marketing", hours(-6).toISOString()],
      ["all", hours(-5).toISOString()],
    ],
  );
});

test("a request that a user removed under a WhatsApp user ID has no effect again once its phone is known", async () => {
  for (const lifted of [undefined, hours(-3), hours(-1)]) {
    const of = await makeAccount(api.app);
    const person = { phone: null, bsuid: "IN.126" };
    const asked = { person, occurred_at: hours(-2), evidence: { text: "STOP" } };
    await suppressed(of, asked);
    const [{ id }] = await list("", of);
    assert.equal((await remove(id, of)).status, 204);
    if (lifted !== undefined) {
      await suppressed(of, { occurred_at: hours(-4) });
      assert.equal(await lift(of, lifted), true);
    }
    await linked(of, "IN.126");
    assert.equal(await suppressed(of, asked), false, `lifted ${lifted?.toISOString()}`);
    assert.equal(await isStopped(of), false);
    assert.equal(await suppressed(of, { ...asked, occurred_at: hours(-1) }), true);
    assert.equal(await isStopped(of), true);
  }
});

test("a person's own requests under a WhatsApp user ID, and nothing else, also block the next phone of the ID", async () => {
  const of = await makeAccount(api.app);
  const bsuid = "IN.124";
  const [first, second] = ["919876543211", "919876543212"];
  const link = (phone: string) =>
    api.app.db.query
      .transaction()
      .execute((tx) => linkBsuids(tx, of.account_id, [{ bsuid, phone }], api.clock.now()));
  await link(first);
  await suppressed(of, { person: { phone: null, bsuid } });
  await suppressed(of, { person: { phone: first }, source: "manual" });
  await link(second);
  for (const person of [{ phone: null, bsuid }, { phone: second }, { phone: first }])
    assert.equal(await isStopped(of, person), true, JSON.stringify(person));
  const sources = (await list(`phone_number=%2B${second}`, of)).map(({ source }) => source);
  assert.deepEqual(sources, ["reply"]);
});

test("a delivery status of a message to an erased person does not store the phone and user ID again", async () => {
  const of = await makeAccount(api.app);
  await makeCredits(api.app, of, { chat: 10 });
  const number = await makeChatNumber(api.app, of);
  const template_id = await makeChatTemplate(api.app, of, number);
  const campaign_id = await makeChatCampaign(api.app, of, number, template_id, [
    { phone: "919876500000" },
    { phone: "919876500001" },
  ]);
  const { rows } = await api.app.db.pool.query<{ id: number }>(
    "select id from chat_recipients where account_id = $1 and campaign_id = $2 order by id",
    [of.account_id, campaign_id],
  );
  // As an erasure does.
  await api.app.db.pool.query(
    "update chat_recipients set phone = '' where account_id = $1 and campaign_id = $2 and id = $3",
    [of.account_id, campaign_id, rows[0]!.id],
  );
  const links = rows.map(({ id: recipient_id }, i) => ({
    bsuid: `IN.${i}`,
    phone: `91987650000${i}`,
    recipients: [{ campaign_id, recipient_id }],
  }));
  await api.app.db.query
    .transaction()
    .execute((tx) => linkBsuids(tx, of.account_id, links, api.clock.now()));
  const stored = await api.app.db.pool.query<{ bsuid: string }>(
    "select bsuid from person_bsuids where account_id = $1",
    [of.account_id],
  );
  assert.deepEqual(stored.rows, [{ bsuid: "IN.1" }]);
});

test("the recipients of a webhook are read as often as there are recipients, however many user IDs it links", async () => {
  const of = await makeAccount(api.app);
  let reads = 0;
  const recipient = {
    get campaign_id() {
      reads++;
      return 1;
    },
    recipient_id: 1,
  };
  const recipients = Array.from({ length: 100 }, () => recipient);
  const links = Array.from({ length: 100 }, (_, i) => {
    return { bsuid: `IN.${i}`, phone: `${919_876_500_000 + i}`, recipients };
  });
  await api.app.db.query
    .transaction()
    .execute((tx) => linkBsuids(tx, of.account_id, links, api.clock.now()));
  assert.ok(reads <= 10 * recipients.length, `${reads} reads`);
});

test("a suppression under a WhatsApp user ID is not lost while another process links its phone", async () => {
  const of = await makeAccount(api.app);
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      const bsuid = `IN.${i}`;
      const phone = `9198765432${10 + i}`;
      await Promise.all([
        suppressed(of, { person: { phone: null, bsuid } }),
        api.app.db.query
          .transaction()
          .execute((tx) => linkBsuids(tx, of.account_id, [{ bsuid, phone }], api.clock.now())),
      ]);
      assert.equal(await isStopped(of, { phone }), true);
    }),
  );
});

test("the same number in another spelling is the same suppression, and found by any of them", async () => {
  const of = await makeAccount(api.app);
  const first = await add({ phone_number: "+55 51 98765-4321" }, of);
  const again = await add({ phone_number: "+55 51 8765-4321" }, of);
  assert.deepEqual([again.body.id, again.body.phone_number], [first.body.id, "5551987654321"]);
  for (const phone of ["5551987654321", "555187654321"]) {
    assert.equal(await isStopped(of, { phone }), true);
    assert.equal((await list(`phone_number=%2B${phone}`, of)).length, 1);
  }
  // As WhatsApp spells older Mexican numbers.
  const mexican = await add({ phone_number: "+52 1 55 1234-5678" }, of);
  assert.deepEqual([mexican.status, mexican.body.phone_number], [201, "5215512345678"]);
  for (const phone of ["525512345678", "5215512345678"])
    assert.equal(await isStopped(of, { phone }), true);
});

test("a suppression of marketing lets UTILITY and AUTHENTICATION templates pass, and nothing else", async () => {
  const of = await makeAccount(api.app);
  const phone = "919876543210";
  await suppressed(of, { channel: "all", scope: "marketing" });
  const stops = (outreach: Outreach) =>
    isSuppressed(api.app.db.pool, of.account_id, outreach, { phone }, api.clock.now());
  const categories = ["UTILITY", "AUTHENTICATION", "MARKETING", null];
  const stopped = await Promise.all(categories.map((one) => stops(messageOutreach(one))));
  assert.deepEqual(stopped, [false, false, true, true]);
  assert.equal(await stops(call_outreach), true);
});

test("an expired suppression is replaced by a new one", async () => {
  const of = await makeAccount(api.app);
  await suppressed(of, { expires_at: hours(-1) });
  assert.equal(await isStopped(of), false);
  assert.equal(await suppressed(of, { expires_at: hours(1) }), true);
  assert.equal(await isStopped(of), true);
});

test("a number is suppressed on a channel by a suppression of that channel or of all, until it expires", async () => {
  const of = await makeAccount(api.app);
  const other = await makeAccount(api.app);
  const [chat, voice, all, ended, ending] = ["1", "2", "3", "4", "5"].map((n) => `91987654321${n}`);
  await suppressed(of, { phone: chat!, channel: "chat" });
  await suppressed(of, { phone: voice!, channel: "voice" });
  await suppressed(of, { phone: all!, channel: "all" });
  await suppressed(of, { phone: ended!, expires_at: api.clock.now() });
  await suppressed(of, { phone: ending!, expires_at: hours(1) });
  const phones = [chat!, voice!, all!, ended!, ending!, "919999999999"];
  const among = async (whose: TestAccount, outreach: Outreach) => [
    ...(await suppressedAmong(
      api.app.db.query,
      whose.account_id,
      outreach,
      phones,
      api.clock.now(),
    )),
  ];
  assert.deepEqual((await among(of, is_utility)).toSorted(), [chat, all, ending]);
  assert.deepEqual((await among(of, call_outreach)).toSorted(), [voice, all]);
  assert.deepEqual(await among(other, is_utility), []);
});

test("finds suppressions among more phones than one statement takes", async () => {
  const of = await makeAccount(api.app);
  const phones = Array.from({ length: 25_000 }, (_, i) => `9190000${String(i).padStart(5, "0")}`);
  const wanted = [phones[0]!, phones[10_000]!, phones[24_999]!];
  for (const phone of wanted) await suppressed(of, { phone });
  const found = await suppressedAmong(
    api.app.db.pool,
    of.account_id,
    is_utility,
    phones,
    api.clock.now(),
  );
  assert.deepEqual([...found].toSorted(), wanted);
});

test("twenty concurrent suppressions of a number result in one, the longest", async () => {
  const of = await makeAccount(api.app);
  const expiries = Array.from({ length: 20 }, (_, i) => hours(1 + ((i * 7) % 20)));
  await Promise.all(expiries.map((expires_at) => suppressed(of, { expires_at })));
  const rows = await list("", of);
  assert.deepEqual(
    rows.map(({ expires_at }) => expires_at),
    [hours(20).toISOString()],
  );
});

test("the list is filtered by number, channel, source and active, and paged newest first", async () => {
  const of = await makeAccount(api.app);
  await suppressed(of, { phone: "919000000001", source: "dtmf", channel: "voice" });
  await suppressed(of, { phone: "919000000002", expires_at: hours(-1) });
  await add({ phone_number: "9000000003" }, of);
  const phones = async (query: string) =>
    (await list(query, of)).map((row) => Number(row.phone_number) - 919_000_000_000);
  assert.deepEqual(await phones(""), [3, 2, 1]);
  assert.deepEqual(await phones("channel=voice"), [1]);
  assert.deepEqual(await phones("source=reply"), [2]);
  assert.deepEqual(await phones("active=true"), [3, 1]);
  assert.deepEqual(await phones("active=false"), [2]);
  assert.deepEqual(await phones("phone_number=9000000001&channel=chat"), []);
  const first = await api.send("GET", `${path}?limit=2`, { token: of.token });
  const cursor = first.body.next_cursor as string;
  assert.deepEqual(await phones(`limit=2&cursor=${cursor}`), [1]);
});

test("a repeated idempotency key adds nothing twice and returns the same response", async () => {
  const of = await makeAccount(api.app);
  const json = { phone_number: "9876543210" };
  const first = await add(json, of, { "idempotency-key": "k" });
  await remove(first.body.id, of);
  const again = await add(json, of, { "idempotency-key": "k" });
  assert.deepEqual([again.status, again.text], [201, first.text]);
  assert.equal(again.headers.get("idempotency-replayed"), "true");
  assert.deepEqual(await list("", of), []);
});

test("suppressions are read with suppressions.read and changed only with suppressions.manage", async () => {
  const reader = await makeAgentToken(api.app, account, ["suppressions.read"]);
  const { body } = await add({ phone_number: newPhone() });
  assert.equal((await api.send("GET", path, { token: reader })).status, 200);
  const json = { phone_number: "9876543210" };
  assert.equal((await api.send("POST", path, { token: reader, json })).status, 403);
  assert.equal((await api.send("DELETE", `${path}/${body.id}`, { token: reader })).status, 403);
  assert.equal((await api.send("GET", path)).status, 401);
});

test("another account cannot see or remove a suppression and is not affected by it", async () => {
  const other = await makeAccount(api.app);
  const { body } = await add({ phone_number: newPhone() });
  assert.deepEqual(await list("", other), []);
  assert.equal((await remove(body.id, other)).status, 404);
  assert.equal((await list(`phone_number=%2B${body.phone_number}`)).length, 1);
});

test("the audit trail records who added, imported and removed suppressions and why, without the number", async () => {
  const of = await makeAccount(api.app);
  const { body } = await add({ phone_number: "9876543210", channel: "chat" }, of);
  await add({ phone_number: "9876543210", channel: "chat" }, of);
  await remove(`${body.id}?reason=asked%20for%20messages`, of);
  await upload(of, "phone_number\n9876543210\n");
  const audit = await api.send("GET", "/api/v1/audit", { token: of.token });
  const entries = audit.body.data.filter((entry: { action: string }) =>
    entry.action.includes("suppress"),
  );
  assert.deepEqual(
    entries.map((entry: Answer["body"]) => [entry.action, entry.subject_id, entry.detail]),
    [
      [
        "suppressions.imported",
        null,
        { channel: "all", scope: "all", expires_at: null, suppressed: 1 },
      ],
      [
        "suppression.removed",
        String(body.id),
        { channel: "chat", scope: "all", source: "manual", reason: "asked for messages" },
      ],
      ["suppression.added", String(body.id), { channel: "chat", scope: "all", expires_at: null }],
    ],
  );
  assert.doesNotMatch(JSON.stringify(entries), /9876543210/);
});

const upload = (of: TestAccount, csv: string | null, fields: Record<string, string> = {}) => {
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  if (csv !== null) form.set("file", new Blob([csv]), "numbers.csv");
  return api.send("POST", `${path}/import`, { token: of.token, raw: form });
};

test("every number of a file is suppressed; duplicates are counted, and rejects are counted and listed", async () => {
  const of = await makeAccount(api.app);
  await suppressed(of, { phone: "919000000004", channel: "all", source: "import" });
  const csv = [
    "Name,Phone",
    "Ada,9000000001",
    'Bob,"+91 90000 00002"',
    "Cid,98765",
    "",
    "Ada again,'+919000000001",
    "Eve,",
    "Fay,9000000004",
  ].join("\r\n");
  const answer = await upload(of, csv, {
    phone_number_column: "Phone",
    reason: "bought list",
    expires_at: "2099-01-01T00:00:00Z",
  });
  const errors = [
    {
      field: "phone_number",
      reason: "must be a phone number: ten digits, or + and the country code",
    },
  ];
  assert.equal(answer.status, 200, answer.text);
  assert.deepEqual(answer.body, {
    total_rows: 6,
    suppressed_count: 3,
    changed_count: 2,
    duplicate_count: 1,
    rejected_count: 2,
    rejects: [
      { row_number: 4, errors },
      { row_number: 7, errors },
    ],
  });
  const rows = (await list("", of)).toSorted((a, b) => a.phone_number - b.phone_number);
  assert.deepEqual(
    rows.map((row) => [row.phone_number, row.source, row.reason, row.expires_at, row.created_by]),
    [
      ["919000000001", "import", "bought list", "2099-01-01T00:00:00.000Z", of.owner_id],
      ["919000000002", "import", "bought list", "2099-01-01T00:00:00.000Z", of.owner_id],
      ["919000000004", "import", "STOP", null, null],
    ],
  );
});

test("a file of numbers that a program wrote as decimals suppresses these numbers", async () => {
  const of = await makeAccount(api.app);
  const numbers = ["9000000001.0", "919000000002.0", "+14155552671.0", "5215512345678.0"];
  const answer = await upload(of, ["phone_number", ...numbers].join("\n"));
  assert.equal(answer.body.suppressed_count, 4, answer.text);
  const phones = (await list("", of)).map(({ phone_number }) => phone_number);
  assert.deepEqual(
    new Set(phones),
    new Set(["919000000001", "919000000002", "14155552671", "5215512345678"]),
  );
});

test("a file's reason counts characters as the API does", async () => {
  const of = await makeAccount(api.app);
  const json = { phone_number: "9000000001", reason: "😀".repeat(255) };
  assert.equal((await add(json, of)).status, 201);
  const csv = "phone_number\n9000000002\n";
  assert.equal((await upload(of, csv, { reason: json.reason })).status, 200);
  assert.deepEqual(failingFields(await upload(of, csv, { reason: `${json.reason}😀` })), [
    "reason",
  ]);
});

test("a row with more cells than the header suppresses its number, because nothing else is read", async () => {
  const of = await makeAccount(api.app);
  const answer = await upload(of, "phone_number,name\n9000000001,Rao, Anil\n");
  assert.deepEqual([answer.body.suppressed_count, answer.body.rejected_count], [1, 0]);
});

test("an unchanged export of suppressions can be imported and suppresses the same numbers", async () => {
  const of = await makeAccount(api.app);
  // Ten digits with the country code, which would be a national number without the plus.
  for (const phone of ["6591234567", "919876543210"])
    await suppressed(of, { phone, reason: "=STOP" });
  const answer = await api.send("GET", `${path}/export?active=true`, of);
  assert.equal(answer.status, 200, answer.text);
  const rows: Record<string, string>[] = parse(answer.text, { columns: true });
  const [first] = await list("", of);
  assert.deepEqual(Object.keys(rows[0]!), Object.keys(first));
  assert.deepEqual(
    rows.map((row) => [row["phone_number"], row["reason"], row["active"]]),
    [
      ["+919876543210", "'=STOP", "true"],
      ["+6591234567", "'=STOP", "true"],
    ],
  );
  const other = await makeAccount(api.app);
  assert.equal((await upload(other, answer.text)).body.suppressed_count, 2);
  const copied = (await list("", other)).map(({ phone_number }) => phone_number);
  assert.deepEqual(new Set(copied), new Set(["6591234567", "919876543210"]));
  const entries = await api.app.db.query
    .selectFrom("audit_entries")
    .select("detail")
    .where("account_id", "=", of.account_id)
    .where("action", "=", "suppressions.exported")
    .execute();
  assert.deepEqual(entries, [{ detail: { filters: ["active"] } }]);
});

test("a file with many rejects counts all of them and lists the first hundred", async () => {
  const of = await makeAccount(api.app);
  const bad = Array.from({ length: 2_500 }, (_, i) => `bad${i}`);
  const good = Array.from({ length: 2_500 }, (_, i) => `9${String(i).padStart(9, "0")}`);
  const { body } = await upload(of, ["phone_number", ...bad, ...good].join("\n"));
  assert.deepEqual(
    [body.total_rows, body.suppressed_count, body.rejected_count, body.rejects.length],
    [5_000, 2_500, 2_500, 100],
  );
  assert.deepEqual([body.rejects[0].row_number, body.rejects[99].row_number], [2, 101]);
});

test("reports the violations of every part of an upload and stores nothing", async () => {
  const of = await makeAccount(api.app);
  const csv = "phone_number,phone,phone\n9000000001,1,2\n";
  const cases: [string | null, Record<string, string>, string[]][] = [
    [null, {}, ["file"]],
    ["", {}, ["file"]],
    ["phone_number\n", {}, ["file"]],
    ["\0\0", {}, ["file"]],
    [csv, { phone_number_column: "mobile" }, ["phone_number_column"]],
    [csv, { phone_number_column: "phone" }, ["phone_number_column"]],
    [csv, { channel: "sms" }, ["channel"]],
    [csv, { reason: "r".repeat(256) }, ["reason"]],
    [csv, { expires_at: "2020-01-01T00:00:00Z" }, ["expires_at"]],
    [csv, { colour: "red" }, ["colour"]],
    [null, { channel: "sms", expires_at: "x" }, ["file", "channel", "expires_at"]],
  ];
  for (const [file, fields, failing] of cases) {
    assert.deepEqual(failingFields(await upload(of, file, fields)), failing, failing.join());
  }
  assert.deepEqual(await list("", of), []);
});

test("two concurrent files with the same numbers in different orders are both imported", async () => {
  const of = await makeAccount(api.app);
  const numbers = Array.from({ length: 3_000 }, (_, i) => `9${String(i).padStart(9, "0")}`);
  const answers = await Promise.all([
    upload(of, ["phone_number", ...numbers].join("\n")),
    upload(of, ["phone_number", ...numbers.toReversed()].join("\n"), { reason: "again" }),
    ...numbers.slice(0, 20).map((phone_number) => add({ phone_number }, of)),
  ]);
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200, 201]));
  const { count } = await api.app.db.query
    .selectFrom("suppressions")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", of.account_id)
    .where("source", "=", "import")
    .executeTakeFirstOrThrow();
  assert.equal(count, numbers.length);
});
