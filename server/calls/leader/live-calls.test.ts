// Recordings, transfers and retries over the API, with a node leader on the sandbox.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeExtension, makeNode, makeTrunk } from "../../../test/support/telephony-factory.ts";
import { failed, makeCall } from "../../../test/support/call-factory.ts";
import { openCallFixture, type CallFixture } from "../../../test/support/call-fixture.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { startApi } from "../../../test/support/api.ts";
import { openAsteriskDriver } from "../../drivers/voice/asterisk/open-asterisk-driver.ts";
import type { VoiceDriver } from "../../drivers/voice/driver.ts";

let fixture: CallFixture;
before(async () => {
  fixture = await openCallFixture();
  fixture.startLeaders();
});
after(() => fixture.close());

const ended = { ...failed, recording_state: "ready" };

test("a call's recording is a WAV file at the URL of its call record, and downloads are audited", async () => {
  const campaign = await fixture.call({ to_number: "9810000001", from_number: "101" });
  const record = await fixture.awaitCall(campaign, "completed");
  assert.equal(record.recording_url, `/api/v1/calls/${record.call_id}/recording`);
  const { token, account_id } = fixture.account;
  const answer = await fetch(fixture.api.url + record.recording_url, {
    headers: { authorization: `Bearer ${token}` },
  });
  assert.equal(answer.status, 200);
  assert.equal(answer.headers.get("content-type"), "audio/wav");
  assert.equal(
    answer.headers.get("content-disposition"),
    `attachment; filename="call-${record.call_id}.wav"`,
  );
  const wav = Buffer.from(await answer.arrayBuffer());
  assert.equal(wav.toString("latin1", 0, 4) + wav.toString("latin1", 8, 12), "RIFFWAVE");
  assert.ok(wav.length > 44 && wav.subarray(44).some((byte) => byte !== 0));
  const audit = await fixture.app.db.query
    .selectFrom("audit_entries")
    .select(["action", "subject_id"])
    .where("account_id", "=", account_id)
    .where("action", "=", "call.listened")
    .execute();
  assert.deepEqual(audit, [{ action: "call.listened", subject_id: String(record.call_id) }]);
});

test("a recording is played in parts, which are one entry of the audit trail for a session", async () => {
  const { app, account, api } = fixture;
  const place = { node_id: fixture.node_id, trunk_id: fixture.trunk_id };
  const { id } = await makeCall(app, account, { call: ended, place });
  const download = async (range?: string) => {
    const headers = { authorization: `Bearer ${account.token}`, ...(range ? { range } : {}) };
    const answer = await fetch(`${api.url}/api/v1/calls/${id}/recording`, { headers });
    const bytes = Buffer.from(await answer.arrayBuffer());
    return { status: answer.status, of: answer.headers.get("content-range"), bytes };
  };
  const { bytes: whole } = await download();
  const total = whole.length;
  const parts = [
    ["bytes=0-", 0, total - 1],
    ["bytes=0-0", 0, 0],
    ["bytes=3-9", 3, 9],
    ["bytes=40-50000", 40, 50_000],
    [`bytes=${total - 2}-${total + 5}`, total - 2, total - 1],
    ["bytes=-100", total - 100, total - 1],
  ] as const;
  for (const [range, from, to] of parts) {
    const { status, of, bytes } = await download(range);
    assert.deepEqual([status, of], [206, `bytes ${from}-${to}/${total}`], range);
    assert.ok(bytes.equals(whole.subarray(from, to + 1)), range);
  }
  for (const range of [`bytes=${total}-`, "bytes=-0"])
    assert.deepEqual((await download(range)).status, 416, range);
  assert.equal((await download(`bytes=${total}-`)).of, `bytes */${total}`);
  // Anything else is answered with all of it, which is an entry each time.
  const others = ["bytes=9-3", "bytes=0-1,4-5", "bytes=-", "lines=1-2"];
  for (const range of others) {
    const { status, of, bytes } = await download(range);
    assert.deepEqual([status, of, bytes.length], [200, null, total], range);
  }
  const { rows } = await app.db.pool.query<{ entries: number }>(
    `select count(*) as entries from audit_entries
     where account_id = $1 and action = 'call.listened' and subject_id = $2`,
    [account.account_id, String(id)],
  );
  assert.deepEqual(rows, [{ entries: 2 + others.length }]);
});

test("a call without a recording, or whose recording was deleted from its node, returns 404", async () => {
  const { app, account } = fixture;
  const place = { node_id: fixture.node_id, trunk_id: fixture.trunk_id };
  const without = await makeCall(app, account, { call: failed, place });
  const gone = await makeCall(app, account, { call: ended, place });
  const node = {
    id: fixture.node_id,
    name: "sandbox",
    ari: null,
    cdr_path: null,
    sounds_dir: null,
  };
  await fixture.sandbox.deleteRecording(node, `trk-${account.account_id}-${gone.id}`);
  for (const { id } of [without, gone]) {
    const answer = await fixture.ask("GET", `/api/v1/calls/${id}/recording`);
    assert.equal(answer.status, 404, String(id));
    assert.equal(answer.body.detail, "This call has no such recording");
  }
  const [row] = (await fixture.ask("GET", `/api/v1/calls?campaign_id=${without.campaign_id}`)).body
    .data;
  assert.equal(row.recording_url, null);
});

test("a recording is not opened when the download cannot be audited", async () => {
  const { app, account, sandbox } = fixture;
  let opened = 0;
  const readRecording: VoiceDriver["readRecording"] = (...asked) => {
    opened++;
    return sandbox.readRecording(...asked);
  };
  const voiceDrivers = { sandbox: { ...sandbox, readRecording } };
  const api = await startApi({ databaseUrl: fixture.api.database_url, voiceDrivers });
  const place = { node_id: fixture.node_id, trunk_id: fixture.trunk_id };
  const { id } = await makeCall(app, account, { call: ended, place });
  const listen = async () =>
    (await api.send("GET", `/api/v1/calls/${id}/recording`, { token: account.token })).status;
  await app.db.pool.query(`
    create function refuse() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
    create trigger refuse before insert on audit_entries for each row
      when (new.action = 'call.listened') execute function refuse()`);
  try {
    assert.deepEqual([await listen(), opened], [500, 0]);
    await app.db.pool.query("drop trigger refuse on audit_entries");
    assert.deepEqual([await listen(), opened], [200, 1]);
  } finally {
    await api.close();
  }
});

test("a recording is 503 while its node does not respond, and can be requested again", async () => {
  const asterisk = openAsteriskDriver(fixture.app.log);
  const { account } = fixture;
  for (const voiceDrivers of [{ asterisk }, {}]) {
    const api = await startApi({ databaseUrl: fixture.api.database_url, voiceDrivers });
    try {
      const node_id = await makeNode(api.app, { driver: "asterisk" });
      const place = { node_id, trunk_id: await makeTrunk(api.app, [node_id]) };
      const { id } = await makeCall(api.app, account, { call: ended, place });
      const answer = await api.send("GET", `/api/v1/calls/${id}/recording`, {
        token: account.token,
      });
      assert.equal(answer.status, 503, answer.text);
      assert.equal(answer.body.type, "unavailable");
      assert.ok(Number(answer.headers.get("retry-after")) >= 1);
    } finally {
      await api.close();
    }
  }
});

test("a transfer by the API connects the customer to the extension", async () => {
  await makeExtension(fixture.app, fixture.account, "402");
  const campaign = await fixture.call({ to_number: "9810777900", from_number: "302" });
  const { call_id } = await fixture.awaitCall(campaign, "in-progress");
  const path = `/api/v1/calls/${call_id}`;
  const answer = await fixture.ask("POST", `${path}/transfer`, { extension: "402" });
  assert.equal(answer.status, 200, answer.text);
  await eventually(async () => {
    const { events } = (await fixture.ask("GET", path)).body;
    return events.some(({ type }: { type: string }) => type === "call.transferred");
  });
  await fixture.ask("POST", `${path}/hangup`);
  const record = await fixture.awaitCall(campaign, "completed");
  assert.deepEqual(
    record.legs.map(({ role, number }: { role: string; number: string }) => [role, number]),
    [
      ["agent", "302"],
      ["customer", "919810777900"],
      ["transfer", "402"],
    ],
  );
});

test("a busy customer can be retried manually up to the limit of the call", async () => {
  const campaign = await fixture.call({
    to_number: "9811777486",
    from_number: "101",
    customer_retry_count: 1,
    reference: "order-7",
  });
  const { call_id } = await fixture.awaitCall(campaign, "busy");
  const path = `/api/v1/calls/${call_id}/retry`;
  const retried = await fixture.ask("POST", path, { leg: "customer" });
  assert.equal(retried.status, 201, retried.text);
  await eventually(async () => {
    const { body } = await fixture.ask("GET", `/api/v1/calls/${retried.body.call_id}`);
    return body.ended_at !== null;
  });
  const records = await fixture.callRecords(campaign);
  assert.deepEqual(
    records.map(({ attempt, status, reference, retried_leg }) => [
      attempt,
      status,
      reference,
      retried_leg,
    ]),
    [
      [1, "busy", "order-7", null],
      [2, "busy", "order-7", "customer"],
    ],
  );
  assert.equal((await fixture.ask("POST", path, { leg: "customer" })).status, 409);
});
