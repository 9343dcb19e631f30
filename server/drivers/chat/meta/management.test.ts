import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { createServer as createHttpServer } from "node:http";
import { failureOf } from "../../../../test/support/chat-driver-contract.ts";
import { eventually } from "../../../../test/support/eventually.ts";
import { stub_number } from "../../../../test/support/provider-stub/settings.ts";
import {
  startProviderStub,
  type ProviderStub,
} from "../../../../test/support/provider-stub/start-provider-stub.ts";
import { startWebhookReceiver } from "../../../../test/support/provider-stub/webhook-receiver.ts";
import type { TemplateDraft } from "../driver.ts";
import { openMetaDriver, type MetaDriver } from "./open-meta-driver.ts";

const account = stub_number.business_account_id;
const secrets = { access_token: "stub-token", app_secret: "stub-secret", verify_token: "verify" };

function draftOf(name: string): TemplateDraft {
  return {
    name,
    language: "en_US",
    category: "MARKETING",
    parameter_format: "POSITIONAL",
    components: [{ type: "BODY", text: "Hello" }],
  };
}

let stub: ProviderStub;
let driver: MetaDriver;
before(async () => {
  stub = await startProviderStub();
  // A base URL may end with a slash.
  driver = openMetaDriver({ api_url: `${stub.api_url}/`, ...secrets });
});
after(async () => {
  await driver.close();
  await stub.close();
});

/** Starts a provider that responds to every request with the same body. */
async function answering(body: unknown): Promise<{ driver: MetaDriver; close(): Promise<void> }> {
  const server = createHttpServer((request, response) => {
    request.resume();
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const own = openMetaDriver({ api_url: `http://127.0.0.1:${port}/v23.0`, ...secrets });
  return {
    driver: own,
    async close() {
      await own.close();
      server.close();
    },
  };
}

test("lists templates beyond the first page", async () => {
  for (let index = 0; index < 205; index += 1)
    await driver.createTemplate(account, draftOf(`page_${index}`));
  const listed = await driver.listTemplates(account);
  assert.deepEqual(
    new Set(listed.map(({ name }) => name)),
    new Set(Array.from({ length: 205 }, (_, index) => `page_${index}`)),
  );
  assert.equal(listed.length, 205);
  stub.reset();
});

test("rejects an incomplete list, so that no template appears deleted", async () => {
  const endless = await answering({
    data: [],
    paging: { cursors: { after: "x" }, next: "https://provider.test/" },
  });
  assert.equal((await failureOf(endless.driver.listTemplates(account))).failure, "unknown");
  await endless.close();
  const empty = await answering({});
  assert.equal((await failureOf(empty.driver.listTemplates(account))).failure, "unknown");
  await empty.close();
});

test("a template of an unknown category counts as marketing", async () => {
  const row = { id: "1", name: "offer", language: "en", status: "APPROVED", components: [] };
  const categories = ["ALERT_UPDATE", "OTP", "NEW_TO_US", undefined];
  const provider = await answering({ data: categories.map((category) => ({ ...row, category })) });
  const listed = await provider.driver.listTemplates(account);
  await provider.close();
  assert.deepEqual(
    listed.map(({ category }) => category),
    ["UTILITY", "AUTHENTICATION", "MARKETING", "MARKETING"],
  );
});

test("maps Meta's template statuses to ours and keeps parts that our messages cannot fill", async () => {
  const row = {
    id: "1",
    name: "offer",
    language: "en_US",
    status: "IN_APPEAL",
    category: "TRANSACTIONAL",
    components: [{ type: "body", text: "Hello" }],
    quality_score: { score: "YELLOW", date: 1 },
    rejected_reason: "NONE",
  };
  const provider = await answering({
    data: [
      row,
      { ...row, id: "2", status: "NEW_TO_US", category: "MARKETING", rejected_reason: "SCAM" },
      { ...row, id: "3", components: [{ type: "BODY", text: "x" }, { type: "CAROUSEL" }] },
      { ...row, id: undefined },
      null,
    ],
  });
  const listed = await provider.driver.listTemplates(account);
  await provider.close();
  assert.deepEqual(listed, [
    {
      provider_template_id: "1",
      name: "offer",
      language: "en_US",
      status: "PENDING",
      category: "UTILITY",
      parameter_format: "POSITIONAL",
      components: [{ type: "BODY", text: "Hello" }],
      quality: "YELLOW",
      rejection_reason: null,
    },
    {
      provider_template_id: "2",
      name: "offer",
      language: "en_US",
      status: "DISABLED",
      category: "MARKETING",
      parameter_format: "POSITIONAL",
      components: [{ type: "BODY", text: "Hello" }],
      quality: "YELLOW",
      rejection_reason: "SCAM",
    },
    {
      provider_template_id: "3",
      name: "offer",
      language: "en_US",
      status: "PENDING",
      category: "UTILITY",
      parameter_format: "POSITIONAL",
      components: [{ type: "BODY", text: "x" }, { type: "CAROUSEL" }],
      quality: "YELLOW",
      rejection_reason: null,
    },
  ]);
});

test("accepts a template in another category than requested", async () => {
  const provider = await answering({ id: "7", status: "APPROVED", category: "MARKETING" });
  const made = await provider.driver.createTemplate(account, {
    ...draftOf("x"),
    category: "UTILITY",
  });
  assert.deepEqual(
    [made.provider_template_id, made.status, made.category],
    ["7", "APPROVED", "MARKETING"],
  );
  await provider.close();
});

test("a response without the expected ID means that the outcome is unknown", async () => {
  const provider = await answering({ success: true });
  const file = { bytes: Buffer.from("x"), mime_type: "image/png", name: "x.png" };
  for (const call of [
    provider.driver.createTemplate(account, draftOf("x")),
    provider.driver.uploadMedia(stub_number, file),
    provider.driver.findNumber(stub_number),
  ])
    assert.equal((await failureOf(call)).failure, "unknown");
  await provider.close();
});

test("finds a number with its name, quality and onboarding", async () => {
  assert.deepEqual(await driver.findNumber(stub_number), {
    phone_number_id: stub_number.phone_number_id,
    phone_number: "919876500000",
    name: "Stub",
    quality: "GREEN",
    marketing_onboarded: true,
  });
  stub.set({
    numbers: [
      { ...stub_number, quality_rating: "NA", marketing_messages_onboarding_status: "ELIGIBLE" },
    ],
  });
  const other = await driver.findNumber(stub_number);
  assert.deepEqual([other.quality, other.marketing_onboarded], ["UNKNOWN", false]);
  stub.set({ numbers: [stub_number] });
});

test("rejects a number or account that the token cannot access with code 33", async () => {
  for (const from of [
    { ...stub_number, phone_number_id: "1" },
    { ...stub_number, business_account_id: "1" },
  ]) {
    const error = await failureOf(driver.findNumber(from));
    assert.deepEqual([error.failure, error.code], ["rejected", 33]);
  }
});

test("escapes IDs, so that an invalid one reaches no other path of the API", async () => {
  const paths: string[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      paths.push(chunk.toString().split(" ")[1]!);
      socket.end("HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n");
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const own = openMetaDriver({ api_url: `http://127.0.0.1:${port}/v23.0`, ...secrets });
  await failureOf(own.deleteTemplate("1/../2?x=", "a&hsm_id=1"));
  assert.deepEqual(paths, ["/v23.0/1%2F..%2F2%3Fx%3D/message_templates?name=a%26hsm_id%3D1"]);
  await own.close();
  server.close();
});

test("accepts only Meta's signature of the exact bytes", async () => {
  const receiver = await startWebhookReceiver();
  stub.set({ callback_url: receiver.url });
  await stub.reply({ from: "919812345678", text: "Grüße 👋" });
  await eventually(() => receiver.received.length === 1);
  const { raw, signature } = receiver.received[0]!;
  assert.equal(driver.verifySignature(raw, signature), true);
  assert.equal(driver.verifySignature(raw, signature?.toUpperCase().replace("SHA", "sha")), true);
  const rewritten = Buffer.from(JSON.stringify(JSON.parse(raw.toString())));
  assert.equal(driver.verifySignature(rewritten, signature), false);
  const foreign = createHmac("sha256", "other").update(raw).digest("hex");
  const hex = signature!.slice("sha256=".length);
  for (const wrong of [
    undefined,
    "",
    hex,
    `sha1=${hex}`,
    `sha256=${foreign}`,
    "sha256=zz",
    signature!.slice(0, -1),
    `${signature}0`,
  ])
    assert.equal(driver.verifySignature(raw, wrong), false, wrong);
  stub.set({ callback_url: null });
  await receiver.close();
});

test("confirms Meta's subscription only with our token", () => {
  const query = {
    "hub.mode": "subscribe",
    "hub.verify_token": "verify",
    "hub.challenge": "1158201444",
  };
  assert.equal(driver.answerChallenge(query), "1158201444");
  for (const wrong of [
    { ...query, "hub.verify_token": "verif" },
    { ...query, "hub.verify_token": ["verify", "verify"] },
    { ...query, "hub.verify_token": undefined },
    { ...query, "hub.mode": "unsubscribe" },
    { ...query, "hub.challenge": undefined },
    {},
  ])
    assert.equal(driver.answerChallenge(wrong), null);
});
