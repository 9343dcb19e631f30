// Callbacks end to end (contract 6): a worker, calls on the sandbox and a callback receiver.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Webhook } from "standardwebhooks";
import { openSandboxVoiceDriver } from "../../server/drivers/voice/sandbox/open-sandbox-driver.ts";
import { default_settings, startWorker, type BackgroundWork } from "../../server/worker.ts";
import { lasting_lease } from "../support/callback-factory.ts";
import { openCallbackReceiver, type CallbackReceiver } from "../support/callback-receiver.ts";
import { eventually } from "../support/eventually.ts";
import { assertSubmitted, call_path } from "./call-api.ts";
import { assertLaunched, startVoiceApi, type VoiceApi } from "./voice-api.ts";

const sandbox = openSandboxVoiceDriver();
const receivers: CallbackReceiver[] = [];
let voice: VoiceApi;
let work: BackgroundWork;

before(async () => {
  voice = await startVoiceApi({ voiceDrivers: { sandbox } });
  work = startWorker(voice.api.app, { ...default_settings, leases: lasting_lease });
});
after(async () => {
  await work.stop();
  await voice.api.close();
  await sandbox.close();
  await Promise.all(receivers.map((receiver) => receiver.close()));
});

async function newReceiver(): Promise<CallbackReceiver> {
  const receiver = await openCallbackReceiver();
  receivers.push(receiver);
  return receiver;
}

async function ask(method: string, path: string, json?: unknown) {
  const { token } = voice.account;
  const answer = await voice.api.send(method, path, { token, json });
  assert.ok(answer.status < 300, `${method} ${path}: ${answer.status} ${answer.text}`);
  return answer.body;
}

const typesOf = ({ received }: CallbackReceiver, campaign_id: number) =>
  received.filter(({ data }) => data?.campaign_id === campaign_id).map(({ type }) => type);
const isOver = (receiver: CallbackReceiver, campaign_id: number) =>
  eventually(() => typesOf(receiver, campaign_id).includes("call.completed"));

test("a voice campaign's callback_url receives the signed events of its calls in order, and no others", async () => {
  const receiver = await newReceiver();
  const other = assertLaunched(await voice.launch(voice.body({ number: "9876000002" })));
  const launched = await voice.launch(
    voice.body({ number: "9876000001", callback_url: receiver.url }),
  );
  const campaign_id = assertLaunched(launched);
  await isOver(receiver, campaign_id);
  assert.deepEqual(typesOf(receiver, campaign_id), [
    "call.initiated",
    "call.ringing",
    "call.answered",
    "call.completed",
  ]);
  assert.deepEqual(typesOf(receiver, other), []);
  assert.ok(receiver.received.every(({ type }) => type.startsWith("call.")));

  const { data } = await ask("GET", "/api/v1/callbacks/endpoints?kind=campaign");
  assert.deepEqual(
    data.map(({ url }: { url: string }) => url),
    [receiver.url],
  );
  const { secret } = await ask("GET", `/api/v1/callbacks/endpoints/${data[0].id}/secret`);
  for (const { text, headers } of receiver.received)
    new Webhook(secret).verify(text, headers as Record<string, string>);
});

test("a receiver's secret is available before the first call: from an account's endpoint at the callback_url, or from a scheduled launch", async () => {
  const receiver = await newReceiver();
  const { id, secret } = await ask("POST", "/api/v1/callbacks/endpoints", {
    url: receiver.url,
    types: ["call.initiated", "call.completed"],
  });
  const launch = async (more: Record<string, unknown>) =>
    assertLaunched(
      await voice.launch(voice.body({ number: "9876000004", callback_url: receiver.url, ...more })),
    );
  const campaign_id = await launch({});
  await isOver(receiver, campaign_id);
  const received = receiver.received.filter(({ data }) => data.campaign_id === campaign_id);
  // The campaign endpoint sends only the events that the account's endpoint does not receive.
  const own = received.filter(({ type }) => ["call.initiated", "call.completed"].includes(type));
  assert.equal(new Set(own.map(({ type }) => type)).size, 2);
  for (const { text, headers } of own)
    new Webhook(secret).verify(text, headers as Record<string, string>);
  await ask("DELETE", `/api/v1/callbacks/endpoints/${id}`);

  const later = await newReceiver();
  await launch({ callback_url: later.url, schedulled_at: "2099-01-31T09:30:00Z" });
  const { data } = await ask("GET", `/api/v1/callbacks/endpoints?kind=campaign&url=${later.url}`);
  const read = await ask("GET", `/api/v1/callbacks/endpoints/${data[0].id}/secret`);
  assert.match(read.secret, /^whsec_/);
});

test("a click-to-call's callbacks to the account's endpoint use its callback_method, or POST without one", async () => {
  const receiver = await newReceiver();
  const { id } = await ask("POST", "/api/v1/callbacks/endpoints", {
    url: receiver.url,
    types: ["call.answered", "call.completed"],
  });
  const call = async (more: Record<string, unknown>) => {
    const { token } = voice.account;
    const json = { from_number: "101", ...more };
    const answer = await voice.api.send("POST", call_path, { token, json });
    assertSubmitted(answer);
    return answer.body.data.campaignId as number;
  };
  const campaigns = {
    get: await call({ to_number: "9876000011", callback_method: "get", reference: "order 11" }),
    put: await call({ to_number: "9876000012", callback_method: "PUT" }),
    none: await call({ to_number: "9876000013" }),
  };
  const completed = (campaign: number) =>
    receiver.received.find(({ type, data, path }) => {
      const query = new URL(path, receiver.url).searchParams;
      const of = data?.campaign_id ?? Number(query.get("campaign_id"));
      return type === "call.completed" && of === campaign;
    });
  await eventually(() => Object.values(campaigns).every((campaign) => completed(campaign)));
  assert.equal(completed(campaigns.put)!.method, "PUT");
  assert.equal(completed(campaigns.none)!.method, "POST");
  const get = completed(campaigns.get)!;
  assert.equal(get.method, "GET");
  assert.equal(new URL(get.path, receiver.url).searchParams.get("reference"), "order 11");
  await ask("DELETE", `/api/v1/callbacks/endpoints/${id}`);
});

test("a callback is {type, timestamp, data}, is retried under one webhook-id until it succeeds, and lists every attempt", async () => {
  const receiver = await newReceiver();
  let refusals = 0;
  receiver.answer = (response) =>
    void response.writeHead(refusals++ === 0 ? 500 : 204).end(refusals === 1 ? "not yet" : "");
  const types = ["lead.created"];
  const { id, secret } = await ask("POST", "/api/v1/callbacks/endpoints", {
    url: receiver.url,
    types,
  });
  const { workspace_id } = voice.account;
  const lead = await ask("POST", `/api/v1/crm/workspaces/${workspace_id}/leads/create`, {
    phone: "9876543210",
  });
  await eventually(() => receiver.received.length >= 2);
  const [first, second] = receiver.received;
  assert.equal(first!.headers["webhook-id"], second!.headers["webhook-id"]);
  assert.equal(first!.text, second!.text);
  const body = new Webhook(secret).verify(second!.text, second!.headers as Record<string, string>);
  assert.deepEqual(Object.keys(body as object), ["type", "timestamp", "data"]);
  assert.equal(second!.data.id, lead.id);

  const webhook_id = String(first!.headers["webhook-id"]);
  const list = `/api/v1/callbacks/deliveries?endpoint_id=${id}&webhook_id=${webhook_id}`;
  let found: { id: number; state: string } | undefined;
  await eventually(async () => {
    found = (await ask("GET", list)).data[0];
    return found?.state === "delivered";
  });
  const detail = await ask("GET", `/api/v1/callbacks/deliveries/${found!.id}`);
  assert.deepEqual(
    detail.all_attempts.map((each: { status: number; response: string }) => [
      each.status,
      each.response,
    ]),
    [
      [500, "not yet"],
      [204, ""],
    ],
  );
});
