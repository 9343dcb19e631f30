import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startRealtimeStub, type RealtimeStub } from "../../../../test/support/realtime-stub.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { checkModel, type CheckedPlan } from "./check-model.ts";
import { describeTranscription } from "./describe-transcription.ts";

let stub: RealtimeStub;
before(async () => {
  stub = await startRealtimeStub();
});
after(() => stub.close());
beforeEach(() => stub.script({ silent: false, reject: null, grant: (format) => format }));

const check = (plan: Partial<CheckedPlan> = {}) =>
  checkModel(
    { url: stub.url, api_key: "key", model: "default-model", transcription_model: "words" },
    { model: null, voice: null, language: "en-IN", ...plan },
  );

/** Lets the server send these events instead of its own, on the next connection. */
async function answering(...events: object[]) {
  stub.script({ silent: true });
  const count = stub.connections.length;
  const checked = check();
  await eventually(() => stub.connections.length > count);
  for (const event of events) stub.last().send(event);
  return checked;
}

const error = (fields: object) => ({ type: "error", error: fields });
const created = { type: "session.created" };

test("accepts a model that sets up a session and responds", async () => {
  assert.deepEqual(await check({ model: "own-model", voice: "ash" }), { outcome: "accepted" });
  const { model, authorization } = stub.last();
  assert.deepEqual([model, authorization], ["own-model", "Bearer key"]);
  const [update] = stub.last().eventsOf("session.update") as { session: { audio: any } }[]; // oxlint-disable-line typescript/no-explicit-any -- an event of any shape
  const { input, output } = update!.session.audio;
  assert.deepEqual(input.transcription, { model: "words", language: "en" });
  assert.equal(output.voice, "ash");
  assert.deepEqual(await check(), { outcome: "accepted" });
  assert.equal(stub.last().model, "default-model");
});

test("reports which part the server refuses, at whatever point it refuses", async () => {
  const refused = (part: string, code: string) => ({ outcome: "refused", part, code });
  assert.deepEqual(
    await answering(error({ code: "model_not_found" })),
    refused("model", "model_not_found"),
  );
  const param = "session.audio.input.transcription.model";
  assert.deepEqual(
    await answering(created, error({ code: "invalid_value", param })),
    refused("transcription model", "invalid_value"),
  );
  assert.deepEqual(
    await answering(created, error({ code: "invalid_value", param: "session.audio.output.voice" })),
    refused("voice", "invalid_value"),
  );
  const failed = { status: "failed", status_details: { error: { code: "model_not_found" } } };
  assert.deepEqual(
    await answering(
      created,
      { type: "session.updated" },
      { type: "response.done", response: failed },
    ),
    refused("model", "model_not_found"),
  );
  stub.script({ silent: false, grant: () => null });
  assert.deepEqual(await check(), refused("settings", "invalid_value"));
  stub.script({ reject: 404 });
  assert.deepEqual(await check(), refused("model", "http_404"));
  stub.script({ reject: 401 });
  assert.deepEqual(await check(), refused("key", "http_401"));
});

test("a server that is down, busy or out of credit refuses nothing", async () => {
  stub.script({ reject: 503 });
  assert.deepEqual(await check(), { outcome: "unavailable", code: "http_503" });
  stub.script({ reject: null });
  const failed = { status: "failed", status_details: { error: { code: "insufficient_quota" } } };
  assert.deepEqual(
    await answering(
      created,
      { type: "session.updated" },
      { type: "response.done", response: failed },
    ),
    { outcome: "unavailable", code: "insufficient_quota" },
  );
  const count = stub.connections.length;
  stub.script({ silent: true });
  const cut = check();
  await eventually(() => stub.connections.length > count);
  stub.last().cut();
  assert.deepEqual(await cut, { outcome: "unavailable", code: "disconnected" });
});

test("newer transcription models take a list of languages, others one", () => {
  assert.deepEqual(describeTranscription("gpt-transcribe", "hi-IN"), {
    model: "gpt-transcribe",
    languages: ["hi"],
  });
  assert.deepEqual(describeTranscription("whisper-1", "hi-IN"), {
    model: "whisper-1",
    language: "hi",
  });
});
