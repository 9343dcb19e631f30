// Tests the stub that drills and driver tests rely on.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { send } from "../api.ts";
import { eventually } from "../eventually.ts";
import type { InjectedError } from "./injected-errors.ts";
import { openReceivedLog, type LogEntry } from "./received-log.ts";
import { stub_number, type StubSettings } from "./settings.ts";
import { startProviderStub } from "./start-provider-stub.ts";
import { startWebhookReceiver, type WebhookReceiver } from "./webhook-receiver.ts";

async function open(
  t: TestContext,
  settings: Partial<StubSettings> = {},
  answer?: Parameters<typeof startWebhookReceiver>[0],
) {
  const receiver = await startWebhookReceiver(answer);
  const stub = await startProviderStub({ callback_url: receiver.url, ...settings });
  t.after(async () => {
    await stub.close();
    await receiver.close();
  });
  return { stub, receiver };
}

function message(id: string, to = "919812345678") {
  return {
    messaging_product: "whatsapp",
    to,
    type: "text",
    text: { body: "Hello" },
    biz_opaque_callback_data: id,
  };
}

/** Returns the status of the response, or "cut". */
async function post(url: string, id: string, to?: string): Promise<number | "cut"> {
  try {
    const path = `/v23.0/${stub_number.phone_number_id}/messages`;
    return (await send(url, "POST", path, { token: "stub-token", json: message(id, to) })).status;
  } catch {
    return "cut";
  }
}

type Change = {
  readonly value: {
    readonly statuses?: readonly {
      readonly status: string;
      readonly biz_opaque_callback_data: string;
    }[];
  };
};
type Body = { readonly entry: readonly { readonly changes: readonly Change[] }[] };

/** Returns `id status` of each status, in the order of the posts. */
function statuses(receiver: WebhookReceiver): string[] {
  return (receiver.bodies() as Body[])
    .flatMap(({ entry }) => entry.flatMap(({ changes }) => changes))
    .flatMap(({ value }) => value.statuses ?? [])
    .map((one) => `${one.biz_opaque_callback_data} ${one.status}`);
}

test("the same seed injects the same errors", async (t) => {
  const { stub } = await open(t);
  const run = async (seed: number) => {
    stub.setErrors([{ kind: "plain_500", probability: 0.5 }], seed);
    const answers: unknown[] = [];
    for (let index = 0; index < 40; index += 1) answers.push(await post(stub.url, `m${index}`));
    return answers.join(" ");
  };
  const first = await run(5);
  assert.match(first, /200/);
  assert.match(first, /500/);
  assert.equal(await run(5), first);
  assert.notEqual(await run(6), first);
});

test("errors apply by position, by recipient and by count", async (t) => {
  const { stub } = await open(t);
  stub.setErrors([
    { kind: "plain_500", nth: [1, 3] },
    { kind: "refuse", code: 131_056, to: "777", times: 1 },
    { kind: "throttle", every: 6 },
  ]);
  const answers: unknown[] = [];
  for (const to of ["91981", "91981", "91981", "91777", "91777", "91981"])
    answers.push(await post(stub.url, `m${answers.length}`, to));
  assert.deepEqual(answers, [500, 200, 500, 400, 200, 429]);
  assert.deepEqual(stub.counts().by_outcome, {
    plain_500: 2,
    accepted: 2,
    "refuse:131056": 1,
    throttle: 1,
  });
});

test("logs each message that was read and whether it was accepted", async (t) => {
  const { stub } = await open(t);
  const kinds: InjectedError["kind"][] = [
    "plain_500",
    "cut_before_body",
    "cut_after_body",
    "broken_json",
  ];
  for (const kind of kinds) {
    stub.setErrors([{ kind }]);
    await post(stub.url, kind);
  }
  stub.setErrors([]);
  await post(stub.url, "broken_json");
  await post(stub.url, "plain_500");
  const log = stub.log().map((one) => [one.message_id, one.provider_message_id !== ""]);
  assert.deepEqual(log, [
    ["plain_500", false],
    ["cut_after_body", true],
    ["broken_json", true],
    ["broken_json", true],
    ["plain_500", true],
  ]);
  assert.deepEqual(stub.repeated(), [
    { message_id: "plain_500", seen: 2, taken: 1 },
    { message_id: "broken_json", seen: 2, taken: 2 },
  ]);
  assert.equal(stub.counts().taken, 4);
});

test("reads a log of a hundred thousand entries in pages and in order", () => {
  const log = openReceivedLog();
  const entry = { at: 1, to: "1", phone_number_id: "2", receiver: "messages", outcome: "accepted" };
  for (let index = 0; index < 100_500; index += 1)
    log.add({ ...entry, message_id: `m${index}`, provider_message_id: "w" });
  assert.equal(log.size, 100_500);
  const ids = (from: number, limit: number) =>
    log.entries(from, limit).map((one) => one.message_id);
  assert.deepEqual(ids(99_999, 3), ["m99999", "m100000", "m100001"]);
  assert.deepEqual(ids(100_499, 10), ["m100499"]);
  assert.equal(log.entries().length, 100_500);
  assert.deepEqual(log.repeated(), []);
  log.close();
});

test("posts the delivery statuses of a message accepted without a response", async (t) => {
  const { stub, receiver } = await open(t);
  stub.setErrors([{ kind: "cut_after_body" }]);
  assert.equal(await post(stub.url, "cut"), "cut");
  await eventually(() => statuses(receiver).length === 3);
  assert.deepEqual(new Set(statuses(receiver)), new Set(["cut sent", "cut delivered", "cut read"]));
});

test("posts statuses in batches or one by one", async (t) => {
  const { stub, receiver } = await open(t, { statuses: ["delivered"] });
  const all = () =>
    Promise.all(Array.from({ length: 40 }, (_, index) => post(stub.url, `m${index}`)));
  await all();
  await eventually(() => statuses(receiver).length === 40);
  assert.ok(receiver.received.length < 40);
  stub.set({ batch_max: 1 });
  const before = receiver.received.length;
  await all();
  await eventually(() => statuses(receiver).length === 80);
  assert.equal(receiver.received.length - before, 40);
});

test("posts each webhook twice in the mode `duplicated`", async (t) => {
  const { stub, receiver } = await open(t, { order: "duplicated", statuses: ["delivered"] });
  await post(stub.url, "m");
  await eventually(() => statuses(receiver).length === 2);
  assert.deepEqual(statuses(receiver), ["m delivered", "m delivered"]);
});

test("posts webhooks in another order in the mode `reordered`", async (t) => {
  const { stub, receiver } = await open(t, { order: "reordered" });
  const orders = new Set<string>();
  for (let index = 0; orders.size < 2 || !orders.has("mixed"); index += 1) {
    assert.ok(index < 40);
    const before = statuses(receiver).length;
    await post(stub.url, "m");
    await eventually(() => statuses(receiver).length === before + 3);
    const came = statuses(receiver).slice(before).join();
    orders.add(came === "m sent,m delivered,m read" ? "usual" : "mixed");
    orders.add(came);
  }
});

test("posts the webhook before the response in the mode `before_answer`", async (t) => {
  const seen: string[] = [];
  const { stub } = await open(t, { order: "before_answer", statuses: ["sent"] }, () => {
    seen.push("webhook");
    return 200;
  });
  await post(stub.url, "m");
  seen.push("answer");
  assert.deepEqual(seen, ["webhook", "answer"]);
});

test("posts a webhook without a 200 response again with the same signature", async (t) => {
  let count = 0;
  const { stub, receiver } = await open(t, { statuses: ["sent"], retry_ms: 5 }, () => {
    count += 1;
    return count < 3 ? 500 : 200;
  });
  await post(stub.url, "m");
  await eventually(() => stub.counts().webhooks.confirmed === 1);
  assert.equal(receiver.received.length, 3);
  const [first] = receiver.received;
  for (const { raw, signature } of receiver.received) {
    assert.deepEqual(raw, first!.raw);
    const hex = createHmac("sha256", "stub-secret").update(raw).digest("hex");
    assert.equal(signature, `sha256=${hex}`);
  }
  await eventually(() => stub.counts().webhooks.waiting === 0);
});

test("runs as a separate process with an HTTP control API and ends with its parent's pipe", async () => {
  const directory = await mkdtemp(join(tmpdir(), "trunkline-stub-"));
  const log_file = join(directory, "log.tsv");
  const receiver = await startWebhookReceiver();
  const child = spawn(process.execPath, [join(import.meta.dirname, "main.ts")], {
    stdio: ["pipe", "pipe", "inherit"],
    env: {
      ...process.env,
      STUB_LOG_FILE: log_file,
      STUB_SETTINGS: JSON.stringify({ callback_url: receiver.url, statuses: [] }),
    },
  });
  const ended = once(child, "exit");
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = /^listening (http:\S+)/.exec(line.toString())![1]!;
  const control = async (method: string, path: string, json?: unknown) => {
    const answer = await send(url, method, `/_stub/${path}`, json === undefined ? {} : { json });
    assert.equal(answer.status, 200, answer.text);
    return answer.body;
  };
  assert.deepEqual(await control("GET", "health"), { ok: true });
  await control("POST", "errors", { errors: [{ kind: "refuse", code: 131_048, nth: [2] }] });
  assert.deepEqual([await post(url, "a"), await post(url, "b")], [200, 400]);
  const { entries, total } = await control("GET", "log?from=1&limit=10");
  assert.equal(total, 2);
  assert.deepEqual(
    (entries as LogEntry[]).map((one) => [one.message_id, one.outcome]),
    [["b", "refuse:131048"]],
  );
  assert.equal((await control("GET", "counts")).taken, 1);
  assert.deepEqual(await control("GET", "repeated"), []);
  assert.equal((await control("POST", "settings", { delay_ms: 1 })).delay_ms, 1);
  await control("POST", "reply", { from: "919812345678", text: "hi" });
  await control("POST", "preference", { from: "919812345678", stop: true });
  await control("POST", "webhook", { object: "any" });
  assert.equal(receiver.received.length, 3);
  assert.equal((await send(url, "POST", "/_stub/template", { json: { name: "x" } })).status, 400);
  assert.equal((await send(url, "GET", "/_stub/nothing")).status, 404);
  await control("POST", "reset", {});
  assert.equal((await control("GET", "counts")).requests, 0);
  await eventually(async () => (await readFile(log_file, "utf8")).split("\n").length === 3);
  child.stdin.end();
  const [code] = (await ended) as [number | null];
  assert.equal(code, 0);
  await receiver.close();
  await rm(directory, { recursive: true });
});
