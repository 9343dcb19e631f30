// Sends malformed requests to every route, repeatable by seed: `FUZZ_SEED=… FUZZ_COUNT=… npm run test:fuzz`.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { routes } from "../../server/api/routes.ts";
import { leadPath } from "../contract/lead-api.ts";
import { routeRows } from "../matrix/route-rows.ts";
import { seedIds, type Ids } from "../matrix/seed-ids.ts";
import { startApi, type TestApi } from "../support/api.ts";
import { makeAccount, type TestAccount } from "../support/account-factory.ts";
import { sendRaw } from "../support/raw-http.ts";
import { checkResponse, type CheckedResponse } from "./check-response.ts";
import { mutateRequest, type Malformed } from "./mutate-request.ts";
import { openSender } from "./send-request.ts";
import { seededRandom, type Random } from "./random.ts";
import { rawGarbage } from "./raw-garbage.ts";

const seed = Number(process.env["FUZZ_SEED"] ?? Date.now() % 2 ** 32);
const count = Number(process.env["FUZZ_COUNT"] ?? 10_000);
const in_flight = 16;
/** A new account after this many requests, because those that succeed use up its data. */
const requests_per_account = 400;

let api: TestApi;
let sender: ReturnType<typeof openSender>;
const violations: string[] = [];
const statuses = new Map<number | "none", number>();

before(async () => {
  console.log(`fuzz: FUZZ_SEED=${seed} FUZZ_COUNT=${count}`);
  api = await startApi();
  sender = openSender(api.url, in_flight);
});
after(async () => {
  sender.close();
  await api.close();
});

type Target = { readonly account: TestAccount; readonly ids: Ids };

async function newTarget(): Promise<Target> {
  const account = await makeAccount(api.app);
  return { account, ids: await seedIds(api, account, "fuzz") };
}

test("malformed requests to every route get no 5xx, and every 4xx has the standard form", async () => {
  const random = seededRandom(seed);
  const total = Math.ceil(count * 0.9);
  for (let done = 0; done < total; done += requests_per_account) {
    const target = await newTarget();
    const size = Math.min(requests_per_account, total - done);
    const requests = Array.from({ length: size }, () => malformed(random, target));
    await inParallel(requests, sendMalformed);
  }
  assert.deepEqual(violations.splice(0), [], `FUZZ_SEED=${seed}`);
});

test("garbage on raw sockets gets no 5xx, and every response has the standard form", async () => {
  const random = seededRandom(seed + 1);
  const { account } = await newTarget();
  const path = leadPath(account.workspace_id);
  const pieces = Array.from({ length: Math.ceil(count * 0.1) }, () =>
    rawGarbage(random, path, account.token),
  );
  await inParallel(pieces, sendGarbage);
  assert.deepEqual(violations.splice(0), [], `FUZZ_SEED=${seed}`);
});

test("after the malformed requests the server still works and no prototype is polluted", async () => {
  console.log(`fuzz: statuses ${JSON.stringify(Object.fromEntries(statuses))}`);
  assert.equal((await api.send("GET", "/health/ready")).status, 200);
  const { account } = await newTarget();
  const answer = await api.send("POST", leadPath(account.workspace_id), {
    token: account.token,
    json: { phone: "9876543210" },
  });
  assert.equal(answer.status, 201, answer.text);
  assert.equal(Object.keys(answer.body).length, 19);
  assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  // The requests must also get past the first checks.
  for (const status of [200, 201, 400, 401, 404, 405, 415, 422]) {
    assert.ok(count < 5_000 || statuses.has(status), `no response was ${status}`);
  }
});

function malformed(random: Random, { account, ids }: Target): Malformed {
  const route = random.pick(routes);
  const valid = routeRows.get(route.id)?.request(ids) ?? { path: route.url };
  return mutateRequest(random, route, valid, account.token);
}

async function inParallel<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) await work(item);
  };
  await Promise.all(Array.from({ length: in_flight }, worker));
}

let uploads: Promise<unknown> = Promise.resolve();

/** Sends uploads one after another, because several at once of one account get 503 by design. */
function sendLimited(request: Malformed): Promise<CheckedResponse> {
  const isUpload = request.headers["content-type"]?.startsWith("multipart/") === true;
  if (!isUpload) return sender.send(request);
  const sent = uploads.then(() => sender.send(request));
  uploads = sent.catch(() => {});
  return sent;
}

async function sendMalformed(request: Malformed): Promise<void> {
  try {
    let answer = await sendLimited(request);
    // A slow database on a busy machine may cause a 503, which is retried.
    for (let retry = 0; answer.status === 503 && retry < 3; retry++)
      answer = await sendLimited(request);
    note(answer.status);
    const violation = checkResponse(request.method, answer, request);
    if (violation) report(violation, request, answer.text);
  } catch (error) {
    // A large body that is refused early may hit a closed connection before the response.
    const isLarge = request.body !== null && request.body.length > 1_000_000;
    if (!isLarge) report(String(error), request, "");
  }
}

async function sendGarbage(bytes: Buffer): Promise<void> {
  const answer = await sendRaw(api.url, [bytes], { patience_ms: 150 });
  note(answer?.status ?? "none");
  if (!answer || answer.status < 400) return;
  const violation = checkResponse("POST", {
    status: answer.status,
    type: answer.headers.get("content-type") ?? "",
    requestId: answer.headers.get("x-request-id") ?? null,
    text: answer.text,
  });
  if (violation)
    violations.push(`${violation}: ${bytes.toString("latin1").slice(0, 300)} → ${answer.text}`);
}

function note(status: number | "none"): void {
  statuses.set(status, (statuses.get(status) ?? 0) + 1);
}

function report(violation: string, { method, path, headers, body }: Malformed, text: string): void {
  const { authorization: _, ...rest } = headers;
  const sent = `${method} ${path.slice(0, 300)} ${JSON.stringify(rest)} ${body?.subarray(0, 400).toString()}`;
  if (violations.length < 30) violations.push(`${violation}: ${sent} → ${text.slice(0, 300)}`);
}
