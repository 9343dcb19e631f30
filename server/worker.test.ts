// Shares of the worker: one account's long work delays no other account's. The stop of the worker.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount, type TestAccount } from "../test/support/account-factory.ts";
import { startApi, type TestApi } from "../test/support/api.ts";
import { lasting_lease } from "../test/support/callback-factory.ts";
import { eventually } from "../test/support/eventually.ts";
import { toneSpeech } from "../test/support/tone-speech.ts";
import type { SpeechDriver } from "./drivers/speech/driver.ts";
import { recognizeDatabase } from "./engine/database-identity.ts";
import {
  default_settings,
  startWorker,
  startWorkerOnceConfirmed,
  type BackgroundWork,
} from "./worker.ts";

const { promise: release, resolve: letSynthesize } = Promise.withResolvers<void>();
let synthesizing = 0;
let synthesizing_max = 0;

/** Synthesizes texts that begin with "slow" only when it is released. */
const speech: SpeechDriver = {
  ...toneSpeech,
  async synthesize(utterance) {
    if (!utterance.text.startsWith("slow")) return toneSpeech.synthesize(utterance);
    synthesizing_max = Math.max(synthesizing_max, ++synthesizing);
    await release;
    synthesizing--;
    return toneSpeech.synthesize(utterance);
  },
};

let api: TestApi;
let work: BackgroundWork;
let busy: TestAccount;
let other: TestAccount;

before(async () => {
  api = await startApi({ speech });
  [busy, other] = [await makeAccount(api.app), await makeAccount(api.app)];
  work = startWorker(api.app, { ...default_settings, leases: lasting_lease });
});
after(async () => {
  letSynthesize();
  await work.stop();
  await api.close();
});

async function post({ token }: TestAccount, path: string, options: object): Promise<string> {
  const answer = await api.send("POST", `/api/v1${path}`, { token, ...options });
  assert.ok(answer.status < 300, answer.text);
  return `/api/v1${path}/${answer.body.id}`;
}

async function read({ token }: TestAccount, path: string) {
  return (await api.send("GET", path, { token })).body as { status?: string; state?: string };
}

test("while one account has many slow texts, another's text, erasure and import are done, and so is its own erasure", async () => {
  const slow: string[] = [];
  for (let i = 0; i < 12; i++) {
    const json = { name: `slow ${i}`, text: `slow ${i}` };
    slow.push(await post(busy, "/voice/files", { json }));
  }
  await eventually(() => synthesizing === 1);
  const phone_number = "+919876543210";
  const erasures = [
    [busy, await post(busy, "/erasures", { json: { phone_number } })],
    [other, await post(other, "/erasures", { json: { phone_number } })],
  ] as const;
  const text = await post(other, "/voice/files", { json: { name: "text", text: "Hello" } });
  const raw = new FormData();
  raw.set("columnMap", '{"phone":"phone"}');
  raw.set("file", new Blob(["phone\n9876543211\n"]), "leads.csv");
  const leads = `/crm/workspaces/${other.workspace_id}/leads/import`;
  const imported = (await post(other, leads, { raw })).replace("/import/", "/imports/");
  const isErased = async () => {
    const found = await Promise.all(erasures.map(([account, path]) => read(account, path)));
    return found.every(({ state }) => state === "done");
  };
  await eventually(isErased);
  await eventually(async () => (await read(other, text)).status === "ready");
  await eventually(async () => (await read(other, imported)).state === "completed");
  assert.equal(synthesizing, 1);
  letSynthesize();
  const areReady = async () => {
    const found = await Promise.all(slow.map((path) => read(busy, path)));
    return found.every(({ status }) => status === "ready");
  };
  await eventually(areReady);
  assert.equal(synthesizing_max, 1);
});

test("senders stop at once, also while the record that a worker runs waits for the database", async () => {
  await using stack = new AsyncDisposableStack();
  const stopped = await startApi();
  stack.defer(() => stopped.close());
  const { db, clock } = stopped.app;
  await recognizeDatabase(db, clock.now());
  const confirmed = startWorkerOnceConfirmed(stopped.app, {
    ...default_settings,
    leases: lasting_lease,
  });
  stack.defer(() => confirmed.stop());
  const takePart = async () => {
    const { rows } = await db.pool.query(
      "select from leases where starts_with(name, 'pool:chat_sender:') and holder is not null",
    );
    return rows.length > 0;
  };
  await eventually(takePart);
  const client = await db.pool.connect();
  stack.defer(() => client.release());
  await client.query("begin; select from database_identity for update");
  stack.defer(async () => void (await client.query("rollback")));
  const recordWaits = async () => {
    const { rows } = await db.pool.query(
      "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
    );
    return rows.length > 0;
  };
  await eventually(recordWaits);
  void confirmed.stop();
  await eventually(async () => !(await takePart()));
  assert.ok(await recordWaits(), "the senders did not wait for it");
});
