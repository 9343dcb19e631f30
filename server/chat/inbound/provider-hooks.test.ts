import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeChatNumber, type TestChatNumber } from "../../../test/support/chat-factory.ts";
import {
  app_secret,
  openTestWhatsapp,
  signatureOf,
  statusHook,
  verify_token,
} from "../../../test/support/chat-webhooks.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";

let api: TestApi;
let account: TestAccount;
let number: TestChatNumber;

before(async () => {
  api = await startApi({ chatDrivers: { whatsapp: openTestWhatsapp() } });
  account = await makeAccount(api.app);
  number = await makeChatNumber(api.app, account, { driver: "whatsapp" });
});
after(() => api.close());

const path = "/hooks/whatsapp";

const post = (raw: string | Buffer, signature: string | null = signatureOf(raw)) =>
  api.send("POST", path, {
    raw,
    headers: {
      "content-type": "application/json",
      ...(signature === null ? {} : { "x-hub-signature-256": signature }),
    },
  });

const sentHook = (of = number) => statusHook(of, [{ id: unique("wamid"), status: "sent" }]);

/** The webhooks that are stored, each with where it stands; those that came together share a row. */
async function stored(of: Pick<TestAccount, "account_id"> = account) {
  const rows = await api.app.db.query
    .selectFrom("chat_inbox")
    .select(["chat_number_id", "driver", "body"])
    .where("account_id", "=", of.account_id)
    .orderBy("id")
    .execute();
  return rows.flatMap(({ chat_number_id, driver, body }) =>
    (body as unknown[]).map((webhook) => ({ chat_number_id, driver, body: webhook })),
  );
}

async function counted(outcome: string): Promise<number> {
  const { values } = await api.app.metrics.chatWebhooks.get();
  return values.find(({ labels }) => labels.outcome === outcome)?.value ?? 0;
}

test("a webhook that Meta signed is answered 200 once it is stored for its number", async () => {
  const raw = sentHook();
  const before_count = (await stored()).length;
  const answer = await post(raw);
  assert.equal(answer.status, 200);
  assert.deepEqual(answer.body, { status: "ok" });
  const rows = await stored();
  assert.equal(rows.length, before_count + 1);
  const { chat_number_id, driver, body } = rows.at(-1)!;
  assert.deepEqual(
    { chat_number_id, driver, body },
    {
      chat_number_id: number.id,
      driver: "whatsapp",
      body: JSON.parse(raw),
    },
  );
});

test("the signature is of the bytes as they came: escapes, spaces and their order count", async () => {
  // Meta escapes what is not ASCII; the parsed value is the same, the bytes are not.
  const escaped = statusHook(number, [{ id: "wamid.\u00e9\u4f60", status: "sent" }])
    .replaceAll("\u00e9", "\\u00e9")
    .replaceAll("\u4f60", "\\u4f60")
    .replaceAll(":", " : ");
  const unescaped = JSON.stringify(JSON.parse(escaped));
  assert.equal((await post(escaped)).status, 200);
  assert.equal((await post(unescaped)).status, 200);
  assert.equal((await post(escaped, signatureOf(unescaped))).status, 401);
  assert.equal((await post(unescaped, signatureOf(escaped))).status, 401);
});

test("a webhook without a valid signature is 401 and stores nothing", async () => {
  const raw = sentHook();
  const before_rows = await stored();
  const wrong = [
    null,
    "",
    "sha256=",
    "sha256=zz",
    signatureOf(raw, "another secret"),
    signatureOf(`${raw} `),
    signatureOf(raw).replace("sha256=", "sha1="),
    signatureOf(raw).slice(0, -2),
  ];
  for (const signature of wrong) {
    const answer = await post(raw, signature);
    assert.equal(answer.status, 401, String(signature));
    assert.equal(answer.body.type, "unauthorized");
    assert.ok(answer.headers.get("www-authenticate"));
  }
  assert.equal((await post("", null)).status, 401);
  assert.deepEqual(await stored(), before_rows);
});

test("a webhook that comes twice is taken twice: what it says counts once, when it is applied", async () => {
  const raw = sentHook();
  const before_count = (await stored()).length;
  const answers = await Promise.all([post(raw), post(raw), post(raw)]);
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200],
  );
  assert.equal((await stored()).length, before_count + 3);
});

test("a signed body that is not JSON, or of an unknown form, is answered 200, counted and not stored", async () => {
  const before_rows = await stored();
  const before_count = await counted("ignored");
  const bodies = [
    "not JSON",
    "null",
    "[]",
    "5",
    "{}",
    '{"entry":5}',
    '{"entry":[null,5,{"changes":null},{"changes":[null]}]}',
    '{"entry":[{"id":"1","changes":[{"field":"calls","value":{}}]}]}',
    `${"[".repeat(100_000)}${"]".repeat(100_000)}`,
    Buffer.from([0x7b, 0xff, 0xfe, 0x7d]),
  ];
  for (const raw of bodies) assert.equal((await post(raw)).status, 200, String(raw).slice(0, 80));
  assert.ok((await counted("ignored")) - before_count >= bodies.length);
  assert.deepEqual(await stored(), before_rows);
});

test("a webhook about a number that is not ours is answered 200 and counted", async () => {
  const before_count = await counted("unknown");
  const stranger = {
    id: 0,
    provider_phone_number_id: unique("stranger"),
    business_account_id: unique("stranger"),
  };
  assert.equal((await post(sentHook(stranger))).status, 200);
  assert.equal((await counted("unknown")) - before_count, 1);
});

test("a body about the numbers of two accounts is sorted: each account keeps its own alone", async () => {
  const other = await makeAccount(api.app);
  const theirs = await makeChatNumber(api.app, other, { driver: "whatsapp" });
  const parts = [sentHook(), sentHook(theirs)].map(
    (text) => (JSON.parse(text) as { entry: unknown[] }).entry[0],
  );
  const before_count = (await stored()).length;
  assert.equal((await post(JSON.stringify({ entry: parts }))).status, 200);
  assert.equal((await stored()).length, before_count + 1);
  const rows = await stored(other);
  assert.deepEqual(
    rows.map(({ chat_number_id, body }) => ({ chat_number_id, body })),
    [{ chat_number_id: theirs.id, body: { entry: [parts[1]] } }],
  );
});

test("what PostgreSQL cannot hold is let go, and its neighbours are stored", async () => {
  const deep = sentHook().replace(
    '"object"',
    `"x":${"[".repeat(30_000)}${"]".repeat(30_000)},"object"`,
  );
  const nul = statusHook(number, [{ id: "a\0b", status: "sent" }]);
  const before_count = (await stored()).length;
  const bodies = [sentHook(), deep, nul, sentHook()];
  const answers = await Promise.all(bodies.map((raw) => post(raw)));
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 200, 200, 200],
  );
  assert.equal((await stored()).length, before_count + 3);
});

test("a body of more than 3 MB is 413", async () => {
  const filler = (length: number) => sentHook().replace("{", `{"x":"${"x".repeat(length)}",`);
  assert.equal((await post(filler(2_900_000))).status, 200);
  assert.equal((await post(filler(3 * 1_048_576))).status, 413);
});

test("hundreds of webhooks at once are all stored", async () => {
  const before_count = (await stored()).length;
  const answers = await Promise.all(Array.from({ length: 300 }, () => post(sentHook())));
  assert.ok(answers.every(({ status }) => status === 200));
  assert.equal((await stored()).length, before_count + 300);
});

test("Meta's question is answered with its challenge for our verify token alone, as plain text", async () => {
  const ask = (token: string, mode = "subscribe") =>
    api.send(
      "GET",
      `${path}?hub.mode=${mode}&hub.verify_token=${token}&hub.challenge=${encodeURIComponent("<b>1158</b>")}`,
    );
  const answer = await ask(verify_token);
  assert.equal(answer.status, 200);
  assert.equal(answer.text, "<b>1158</b>");
  assert.match(answer.headers.get("content-type") ?? "", /^text\/plain/);
  for (const refused of [ask("another"), ask(verify_token, "unsubscribe"), api.send("GET", path)])
    assert.equal((await refused).status, 403);
});

test("without WhatsApp's credentials there is nothing here", async () => {
  const bare = await startApi({ databaseUrl: api.database_url });
  try {
    const raw = sentHook();
    const headers = {
      "content-type": "application/json",
      "x-hub-signature-256": signatureOf(raw, app_secret),
    };
    assert.equal((await bare.send("POST", path, { raw, headers })).status, 404);
    assert.equal((await bare.send("GET", `${path}?hub.mode=subscribe`)).status, 404);
  } finally {
    await bare.close();
  }
});
