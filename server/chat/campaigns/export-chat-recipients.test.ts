import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { parse } from "csv-parse/sync";
import { failingFields } from "../../../test/support/assert-guarded.ts";
import {
  openChatFixture,
  startChatFixtureApi,
  type ChatFixture,
  type ChatFixtureApi,
} from "../../../test/support/chat-fixture.ts";

let shared: ChatFixtureApi;
before(async () => {
  shared = await startChatFixtureApi();
});
after(() => shared.api.close());

async function exported(fixture: ChatFixture, path: string): Promise<Record<string, string>[]> {
  const answer = await fixture.ask("GET", path);
  assert.equal(answer.status, 200, answer.text);
  return parse(answer.text, { columns: true });
}

async function setFirst(fixture: ChatFixture, id: number, values: Record<string, unknown>) {
  const { account_id } = fixture.account;
  const first = await fixture.app.db.query
    .selectFrom("chat_recipients")
    .select(({ fn }) => fn.min<number>("id").as("id"))
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", id)
    .executeTakeFirstOrThrow();
  await fixture.app.db.query
    .updateTable("chat_recipients")
    .set(values)
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", id)
    .where("id", "=", first.id)
    .execute();
}

test("an export has every recipient once in order, as the list shows it, with its variables as JSON", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(3);
  await setFirst(fixture, id, {
    variables: JSON.stringify({ "1": 'Zoë "Z"\nsecond line' }),
    state: "undelivered",
    dispatches: 2,
    error: "undeliverable",
    error_code: 131_026,
    provider_message_id: "wamid.1",
    dispatched_at: new Date("2026-01-01T00:00:00Z"),
    ended_at: new Date("2026-01-01T00:00:01Z"),
  });
  const answer = await fixture.ask("GET", `/${id}/recipients/export`);
  assert.equal(answer.headers.get("content-type"), "text/csv; charset=utf-8");
  assert.equal(
    answer.headers.get("content-disposition"),
    `attachment; filename="recipients-${id}.csv"`,
  );
  const rows = await exported(fixture, `/${id}/recipients/export`);
  const listed = (await fixture.ask("GET", `/${id}/recipients`)).body.data;
  assert.deepEqual(
    rows.map((row) => row["phone_number"]),
    listed.map((row: { phone_number: string }) => row.phone_number),
  );
  assert.deepEqual(rows[0], {
    id: String(listed[0].id),
    phone_number: listed[0].phone_number,
    state: "failed",
    attempts: "2",
    error_code: "131026",
    error: "undeliverable",
    provider_message_id: "wamid.1",
    dispatched_at: "2026-01-01T00:00:00.000Z",
    accepted_at: "",
    sent_at: "",
    delivered_at: "",
    read_at: "",
    ended_at: "2026-01-01T00:00:01.000Z",
    variables: '{"1":"Zoë \\"Z\\"\\nsecond line"}',
    bsuid: "",
  });
});

test("what a spreadsheet would run is inert in an export", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(1);
  await setFirst(fixture, id, {
    variables: JSON.stringify({ "=1+1": "=cmd" }),
    provider_message_id: "=cmd|x",
    error: "@sum",
  });
  const [row] = await exported(fixture, `/${id}/recipients/export`);
  assert.equal(row!["provider_message_id"], "'=cmd|x");
  assert.equal(row!["error"], "'@sum");
  assert.equal(row!["variables"]![0], "{");
});

test("an export takes the list's filters, and is written into the audit trail", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(3);
  await setFirst(fixture, id, { state: "refused", error: "opted_out", ended_at: new Date() });
  const path = `/${id}/recipients/export`;
  assert.equal((await exported(fixture, `${path}?state=failed`)).length, 1);
  assert.equal((await exported(fixture, `${path}?state=queued&error=opted_out`)).length, 0);
  assert.deepEqual(failingFields(await fixture.ask("GET", `${path}?state=lost`)), ["state"]);
  assert.deepEqual(failingFields(await fixture.ask("GET", `${path}?phone_number=x`)), [
    "phone_number",
  ]);
  assert.equal((await fixture.ask("GET", "/8000000000000001/recipients/export")).status, 404);
  const entries = await fixture.app.db.query
    .selectFrom("audit_entries")
    .select(["action", "subject_id", "detail"])
    .where("account_id", "=", fixture.account.account_id)
    .where("user_id", "is not", null)
    .orderBy("id")
    .execute();
  const entry = { action: "chat_recipients.exported", subject_id: String(id) };
  assert.deepEqual(entries, [
    { ...entry, detail: { filters: ["state"] } },
    { ...entry, detail: { filters: ["state", "error"] } },
  ]);
});

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("an export of 50,000 recipients arrives whole in bounded memory", async (t) => {
  const fixture = await openChatFixture(t, shared);
  const id = await fixture.campaign(50_000);
  await fixture.app.db.query
    .updateTable("chat_recipients")
    .set({ variables: JSON.stringify({ "1": "x".repeat(300) }) })
    .where("account_id", "=", fixture.account.account_id)
    .where("campaign_id", "=", id)
    .execute();
  const url = `${fixture.api.url}/api/v1/chat/campaigns/${id}/recipients/export`;
  const headers = { authorization: `Bearer ${fixture.account.token}` };
  const held: number[] = [];
  let lines = 0;
  for await (const chunk of (await fetch(url, { headers })).body!) {
    for (const byte of chunk as Uint8Array) if (byte === 10) lines++;
    if (lines / 5_000 < held.length) continue;
    collectGarbage();
    const { heapUsed, external } = process.memoryUsage();
    held.push((heapUsed + external) / 1_048_576);
  }
  assert.equal(lines, 50_001);
  const growth_mb = Math.max(...held) - held[0]!;
  assert.ok(held.length > 8 && growth_mb < 16, `memory held, in MB: ${held.join(", ")}`);
});
