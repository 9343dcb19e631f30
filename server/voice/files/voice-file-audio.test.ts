// The audio of a voice file as its client downloads it: read in pieces, in parts, and by few at once.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { buffer } from "node:stream/consumers";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { chunksRead } from "../../../test/support/rows-read.ts";
import { makeVoiceFile } from "../../../test/support/voice-factory.ts";
import { storeAudio } from "../../calls/audio/audio-files.ts";
import { encodeWav } from "../../lib/audio/wav.ts";
import { findVoiceFileAudio } from "./voice-files.ts";

/** More than all sockets and streams between the two would take without a reader. */
const samples = randomBytes(32 * 1_048_576 + 10);
const wav = encodeWav(samples);

let api: TestApi;
let account: TestAccount;
let url: string;

before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  ({ url } = await makeAudio(account));
});
after(() => api.close());

async function makeAudio(of: TestAccount): Promise<{ id: number; url: string }> {
  const { app } = api;
  const audio = await storeAudio(app.db.query, of.account_id, samples, app.clock.now());
  const { name: audio_name, duration_ms } = audio;
  const id = await makeVoiceFile(app, of, { audio_name, duration_ms, text: null });
  return { id, url: `${api.url}/api/v1/voice/files/${id}/audio` };
}

function download(range?: string, method = "GET"): Promise<Response> {
  const headers = { authorization: `Bearer ${account.token}`, ...(range ? { range } : {}) };
  return fetch(url, { method, headers });
}

/** Returns how many connections, each for one statement or transaction, the API takes until the answer has ended. */
async function connectionsOf(asked: Promise<Response>): Promise<number> {
  let connections = 0;
  const count = () => connections++;
  api.app.db.pool.on("acquire", count);
  try {
    await (await asked).arrayBuffer();
    return connections;
  } finally {
    api.app.db.pool.off("acquire", count);
  }
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

test("a range near the end of a voice file's audio costs as much as one at its beginning", async () => {
  const first = await connectionsOf(download("bytes=100-199"));
  const last = await connectionsOf(download(`bytes=${wav.length - 100}-`));
  assert.ok(last <= first, `${last} statements for the last bytes, ${first} for the first`);
});

test("a part of audio is read from the database without the rest", async () => {
  const own = await makeAccount(api.app);
  const { id } = await makeAudio(own);
  const from = 20 * 1_048_576;
  let part = Buffer.alloc(0);
  const read = await chunksRead(api.app, async ({ db }) => {
    const found = await findVoiceFileAudio(db.query, own.account_id, id);
    part = await buffer(await found.open(from, from + 99));
  });
  assert.ok(part.equals(wav.subarray(from, from + 100)));
  assert.ok(read > 0 && read < 4, `read ${read} chunks`);
});

test("a HEAD of a voice file's audio gets the length of the file, and opens no download", async () => {
  // More at once than an account may download.
  const asked = Array.from({ length: 20 }, (_, i) =>
    download(i % 2 === 0 ? undefined : "bytes=0-9", "HEAD"),
  );
  for (const { status, headers } of await Promise.all(asked)) {
    const described = [status, headers.get("content-length"), headers.get("accept-ranges")];
    assert.deepEqual(described, [200, String(wav.length), "bytes"]);
  }
});

test("audio that is deleted while it is read ends before its announced length", async () => {
  const own = await makeAccount(api.app);
  const answer = await fetch((await makeAudio(own)).url, {
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
  const beside = await fetch((await makeAudio(other)).url, { headers });
  assert.equal(beside.status, 200);
  await Promise.all([...open, beside].map((answer) => answer.body!.cancel()));
  await eventually(async () => {
    const again = await download();
    await again.body!.cancel();
    return again.status === 200;
  });
});
