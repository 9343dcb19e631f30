import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeAccount, unique, type TestAccount } from "../../../test/support/account-factory.ts";
import { startRealtimeStub, type RealtimeStub } from "../../../test/support/realtime-stub.ts";
import { openRealtimeDriver } from "../../drivers/ai-agent/realtime/open-realtime-driver.ts";
import { openLog } from "../../lib/log.ts";

let stub: RealtimeStub;
let api: TestApi;
let account: TestAccount;
before(async () => {
  stub = await startRealtimeStub();
  const realtime = openRealtimeDriver({
    url: stub.url,
    api_key: null,
    model: "default-model",
    transcription_model: "words",
    log: openLog("silent", { readable: false }),
  });
  api = await startApi({ aiAgentDrivers: { realtime } });
  account = await makeAccount(api.app);
});
after(async () => {
  await api.close();
  await stub.close();
});
beforeEach(() => stub.script({ reject: null }));

const send = (method: string, path: string, json: unknown) =>
  api.send(method, `/api/v1/voice/agents${path}`, { token: account.token, json });
const create = (more: object = {}) =>
  send("POST", "", {
    name: unique("agent"),
    driver: "realtime",
    greeting: "Hello",
    instructions: "Sell tea",
    ...more,
  });

test("an AI agent with a model that the server refuses is not saved, and the error names the model", async () => {
  stub.script({ reject: 404 });
  const refused = await create({ model: "gpt-retired" });
  assert.equal(refused.status, 422, refused.text);
  const reason = "is refused by the realtime server (http_404)";
  assert.deepEqual(refused.body.errors, [{ field: "model", reason }]);
  assert.deepEqual((await create()).body.errors, [
    {
      field: "driver",
      reason: "the realtime server refuses the installation's default model (http_404)",
    },
  ]);
  stub.script({ reject: null });
  const saved = await create({ model: "gpt-current" });
  assert.equal(saved.status, 201, saved.text);
  assert.equal(stub.last().model, "gpt-current");
  stub.script({ reject: 404 });
  const patched = await send("PATCH", `/${saved.body.id}`, { model: "gpt-retired" });
  assert.deepEqual(patched.body.errors, [{ field: "model", reason }]);
  const renamed = await send("PATCH", `/${saved.body.id}`, { greeting: "Good day" });
  assert.equal(renamed.status, 200, "other changes do not ask the server");
});

test("an AI agent is saved while the server does not answer, and a scripted one never asks it", async () => {
  stub.script({ reject: 503 });
  assert.equal((await create({ model: "any" })).status, 201);
  stub.script({ reject: 404 });
  const scripted = await create({ driver: "scripted", instructions: null });
  assert.equal(scripted.status, 201, scripted.text);
});
