// The audio of a voice file as its client downloads it: read in pieces, in parts, and by few at once.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { makeVoiceFile } from "../../../test/support/voice-factory.ts";
import { storeAudio } from "../../calls/audio/audio-files.ts";
import { encodeWav } from "../../lib/audio/wav.ts";

/** More than all sockets and streams between the two would take without a reader. */
const samples = randomBytes(32 * 1_048_576 + 10);
const wav = encodeWav(samples);

let api: TestApi;
let account: TestAccount;
let url: string;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  url = await makeAudio(account);
});
after(() => api.close());

async function makeAudio(of: TestAccount): Promise<string> {
  const { app } = api;
  const audio = await storeAudio(app.db.query, of.account_id, samples, app.clock.now());
  const { name: audio_name, duration_ms } = audio;
  const id = await makeVoiceFile(app, of, { audio_name, duration_ms, text: null });
  return `${api.url}/api/v1/voice/files/${id}/audio`;
}

function download(range?: string): Promise<Response> {
  const headers = { authorization: `Bearer ${account.token}`, ...(range ? { range } : {}) };
  return fetch(url, { headers });
}

test("the audio of a voice file is read from the database only as fast as its client reads", async () => {
  let asked = 0;
  const count = () => asked++;
  api.app.db.pool.on("acquire", count);
  const answer = await download();
  assert.equal(answer.headers.get("content-type"), "audio/wav");
  assert.equal(answer.headers.get("content-length"), String(wav.length));
  await eventually(() => asked > 4);
  const asked_unread = asked;
  assert.ok(wav.equals(Buffer.from(await answer.arrayBuffer())));
  assert.ok(asked_unread * 2 < asked, `${asked_unread} of ${asked} pieces were asked for unread`);
  api.app.db.pool.off("acquire", count);
});

test("a player gets the range of a voice file's audio that it asks for", async () => {
  for (const [range, from, to] of [
    ["bytes=0-43", 0, 43],
    ["bytes=524300-1048700", 524_300, 1_048_700],
    ["bytes=-10", wav.length - 10, wav.length - 1],
  ] as const) {
    const answer = await download(range);
    const of = answer.headers.get("content-range");
    assert.deepEqual([answer.status, of], [206, `bytes ${from}-${to}/${wav.length}`], range);
    assert.ok(wav.subarray(from, to + 1).equals(Buffer.from(await answer.arrayBuffer())), range);
  }
  const beyond = await download(`bytes=${wav.length}-`);
  const problem = (await beyond.json()) as { type: string };
  assert.deepEqual([beyond.status, problem.type], [416, "range-not-satisfiable"]);
});

test("audio that is deleted while it is read ends before its announced length", async () => {
  const own = await makeAccount(api.app);
  const answer = await fetch(await makeAudio(own), {
    headers: { authorization: `Bearer ${own.token}` },
  });
  await api.app.db.query
    .deleteFrom("voice_audio")
    .where("account_id", "=", own.account_id)
    .execute();
  await assert.rejects(answer.arrayBuffer());
});

test("an account has at most 16 open downloads of voice files, and other accounts have theirs", async () => {
  const open = await Promise.all(Array.from({ length: 18 }, () => download()));
  const refused = open.filter(({ status }) => status !== 200);
  assert.deepEqual(
    refused.map(({ status }) => status),
    [429, 429],
  );
  const other = await makeAccount(api.app);
  const headers = { authorization: `Bearer ${other.token}` };
  const beside = await fetch(await makeAudio(other), { headers });
  assert.equal(beside.status, 200);
  await Promise.all([...open, beside].map((answer) => answer.body!.cancel()));
  await eventually(async () => {
    const again = await download();
    await again.body!.cancel();
    return again.status === 200;
  });
});
