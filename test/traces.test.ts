// Traces: what one request causes is one trace at the collector, without personal data, and without the collector the
// service works as before.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { openMetaAccess } from "../server/drivers/chat/meta/open-meta-driver.ts";
import { openRealtimeDriver } from "../server/drivers/ai-agent/realtime/open-realtime-driver.ts";
import { openOidc } from "../server/drivers/oidc/open-oidc.ts";
import { openSpeech } from "../server/drivers/speech/open-speech.ts";
import { workJobs } from "../server/engine/work-jobs.ts";
import { syncTemplatesDaily } from "../server/chat/templates/sync-templates.ts";
import { openLog } from "../server/lib/log.ts";
import { openTracing } from "../server/lib/tracing/open-tracing.ts";
import { traced, useTracing } from "../server/lib/tracing/tracing.ts";
import type { Demo } from "../server/seed-demo/demo-file.ts";
import { makeAccount } from "./support/account-factory.ts";
import { startApi } from "./support/api.ts";
import { openCallbackReceiver } from "./support/callback-receiver.ts";
import {
  openCollectorStub,
  type CollectorStub,
  type ReceivedSpan,
} from "./support/collector-stub.ts";
import { cloneDatabase, type TestDatabase } from "./support/database.ts";
import { eventually } from "./support/eventually.ts";
import { startOidcStub } from "./support/oidc-stub.ts";
import { startProviderStub } from "./support/provider-stub/start-provider-stub.ts";
import { stub_number } from "./support/provider-stub/settings.ts";
import { startRealtimeStub } from "./support/realtime-stub.ts";
import { sandboxStub } from "./support/sandbox-stub.ts";
import { startService, type ServiceProcess } from "./support/service-process.ts";
import { startSmtpServer } from "./support/smtp-server.ts";
import { test_agent } from "./support/voice-file-factory.ts";

const trace_id = "0af7651916cd43dd8448eb211c80319c";
const traceparent = `00-${trace_id}-b7ad6b7169203331-01`;
const phone = "919876512345";
const name = "Wilhelmina";

/** Reports the packages of OpenTelemetry that a process loads; prom-client always loads the API, which does nothing. */
const report_loaded = `--import=data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from "node:module";
  registerHooks({ resolve(specifier, context, next) {
    if (/^@opentelemetry.(?!api$)/.test(specifier)) process.stderr.write("loaded " + specifier + "\\n");
    return next(specifier, context);
  } });`)}`;

let database: TestDatabase;
before(async () => {
  database = await cloneDatabase();
});
after(() => database.drop());

async function start(t: { after(undo: () => Promise<void>): void }, env: Record<string, string>) {
  const service = await startService({
    DATABASE_URL: database.url,
    NODE_OPTIONS: report_loaded,
    ...env,
  });
  t.after(() => service.dispose());
  // Only the first service of the database makes the demo.
  const file = await readFile(`${service.data_dir}/demo.json`, "utf8").catch(() => null);
  demo ??= JSON.parse(file!) as Demo;
  return service;
}
let demo: Demo | undefined;

const createLead = (service: ServiceProcess, headers: Record<string, string> = {}) =>
  service.send("POST", `/api/v1/crm/workspaces/${demo!.workspace_id}/leads/create`, {
    token: demo!.tokens["account"],
    headers,
    json: { phone: phone.slice(2), name },
  });

const named = (collector: CollectorStub, span_name: string) =>
  collector.spans().filter((span) => span.name === span_name);

function first(spans: readonly ReceivedSpan[]): ReceivedSpan {
  const [span] = spans;
  assert.ok(span, "there is no such span");
  return span;
}

const childrenOf = (collector: CollectorStub, { spanId }: ReceivedSpan) =>
  collector.spans().filter(({ parentSpanId }) => parentSpanId === spanId);

/** Runs `work` while this process records to the collector, which has all spans afterwards. */
async function recording(collector: CollectorStub, work: () => Promise<void>): Promise<void> {
  const sampler = { name: "parentbased_always_on", ratio: 1 } as const;
  const tracing = openTracing(
    { url: `${collector.endpoint}/v1/traces`, sampler },
    openLog("silent", { readable: false }),
  );
  useTracing(tracing);
  try {
    await work();
  } finally {
    useTracing(null);
    await tracing.close();
  }
}

test("a campaign is traced from its request to its messages and callbacks, without a phone number, a name or a token", async (t) => {
  const collector = await openCollectorStub();
  t.after(() => collector.close());
  const receiver = await openCallbackReceiver();
  t.after(() => receiver.close());
  const service = await start(t, {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=test",
    CALLBACK_ALLOW: "127.0.0.1",
    LOG_LEVEL: "debug",
  });
  const ask = (method: string, path: string, json?: unknown) =>
    service.send(method, `/api/v1${path}`, {
      token: demo!.tokens["account"],
      headers: { traceparent, "idempotency-key": path },
      json,
    });
  await ask("POST", "/callbacks/endpoints", {
    url: `${receiver.url}?to=${phone}`,
    types: ["chat.message.delivered"],
  });
  assert.equal((await createLead(service, { traceparent })).status, 201);
  await ask("GET", `/crm/contacts?q=${phone}`);
  await ask("GET", `/agent-availability/${phone}`);
  const answer = await ask("POST", "/chat/campaigns", {
    name: `Greetings to ${name}`,
    chat_number_id: demo!.chat_number_id,
    template_id: demo!.template_id,
    contacts: [{ phone_number: phone, variables: { "1": name } }],
  });
  assert.equal(answer.status, 201, answer.text);
  await eventually(() => named(collector, "deliver callback").length > 0);
  const request = first(named(collector, "POST /api/v1/chat/campaigns"));
  assert.equal(request.traceId, trace_id, "it continues the trace of its caller");
  assert.equal(request.kind, 2);
  assert.deepEqual(request.status, { code: 0 });
  const { attributes } = request;
  const campaign_id = attributes["trunkline.campaign.id"];
  assert.equal(attributes["http.request.method"], "POST");
  assert.equal(attributes["http.route"], "/api/v1/chat/campaigns");
  assert.equal(attributes["http.response.status_code"], 201);
  assert.ok(childrenOf(collector, request).some((span) => span.name === "COMMIT"));
  const message = first(named(collector, "send chat message"));
  assert.equal(message.attributes["trunkline.campaign.id"], campaign_id);
  assert.equal(message.attributes["trunkline.outcome"], "accepted");
  const batch = named(collector, "chat batch").find(
    ({ spanId }) => spanId === message.parentSpanId,
  );
  assert.equal(batch?.attributes["trunkline.campaign.id"], campaign_id);
  const lead = first(named(collector, "POST /api/v1/crm/workspaces/:workspaceId/leads/create"));
  assert.equal(
    lead.attributes["url.path"],
    `/api/v1/crm/workspaces/${demo!.workspace_id}/leads/create`,
  );
  assert.ok(childrenOf(collector, lead).some((span) => span.name === "write leads"));
  const availability = first(named(collector, "GET /api/v1/agent-availability/:number"));
  assert.equal(availability.attributes["url.path"], "/api/v1/agent-availability/:number");
  const delivery = first(named(collector, "deliver callback"));
  const call = first(childrenOf(collector, delivery));
  assert.equal(call.kind, 3);
  assert.equal(call.attributes["server.address"], "127.0.0.1");
  assert.equal(call.attributes["http.response.status_code"], 204);
  assert.equal(receiver.received[0]?.headers["traceparent"], undefined);
  assert.equal(collector.resource()["service.name"], "trunkline");
  assert.equal(collector.resource()["deployment.environment.name"], "test");
  const line = service
    .output()
    .split("\n")
    .find((text) => text.includes(trace_id));
  assert.match(line ?? "", new RegExp(`"trace_id":"${trace_id}","span_id":"[0-9a-f]{16}"`));
  service.kill("SIGTERM");
  assert.equal(await service.ended(), 0);
  for (const secret of [phone, phone.slice(2), name, demo!.tokens["account"]!])
    assert.ok(!collector.received().includes(secret), `the collector received ${secret}`);
});

test("a job and its call to the provider continue the trace of the request that added it", async (t) => {
  const collector = await openCollectorStub();
  t.after(() => collector.close());
  const provider = await startProviderStub();
  t.after(() => provider.close());
  const access = openMetaAccess({ api_url: provider.api_url });
  t.after(() => access.close());
  const { access_token, app_secret } = provider.settings();
  const whatsapp = {
    ...access.driverWith(access_token),
    ...access.guardWith({ app_secret, verify_token: "verify" }),
  };
  await recording(collector, async () => {
    const api = await startApi({
      chatDrivers: { sandbox: sandboxStub, whatsapp, whatsappAccess: access },
    });
    t.after(() => api.close());
    const account = await makeAccount(api.app);
    const { status, text } = await api.send("POST", "/api/v1/chat/numbers", {
      token: account.token,
      headers: { traceparent },
      json: {
        name: "Support",
        phone_number: stub_number.display_phone_number,
        driver: "whatsapp",
        provider_phone_number_id: stub_number.phone_number_id,
        business_account_id: stub_number.business_account_id,
      },
    });
    assert.equal(status, 201, text);
    const stopping = new AbortController().signal;
    assert.equal(
      await workJobs(api.app, { "chat.sync_templates": syncTemplatesDaily }, stopping),
      1,
    );
  });
  assert.equal(named(collector, "POST /api/v1/chat/numbers").length, 1);
  const job = first(named(collector, "job chat.sync_templates"));
  const call = first(named(collector, "GET /{id}/message_templates"));
  assert.equal(job.traceId, trace_id);
  assert.equal(job.kind, 5);
  assert.equal(call.parentSpanId, job.spanId);
  assert.equal(call.kind, 3);
  assert.equal(call.attributes["http.response.status_code"], 200);
  assert.ok(!collector.received().includes(stub_number.business_account_id));
});

test("mails, speech, AI agents and requests to a provider of identities are part of the trace", async (t) => {
  const collector = await openCollectorStub();
  t.after(() => collector.close());
  const smtp = await startSmtpServer();
  t.after(() => smtp.close());
  const oidc = await startOidcStub();
  t.after(() => oidc.close());
  const speech = openSpeech({ speech_command: null, speech_recognize_command: null });
  const realtime = await startRealtimeStub();
  t.after(() => realtime.close());
  const aiAgents = openRealtimeDriver({
    url: realtime.url,
    api_key: null,
    model: "stub",
    transcription_model: "words",
    log: openLog("silent", { readable: false }),
  });
  const agent = { ...test_agent, driver: "realtime" as const, greeting: name };
  const terms = { briefing: phone, refuse: () => null };
  await recording(collector, () =>
    traced("sign in", { parent: traceparent }, async () => {
      await smtp.mail.send({ to: `${name}@test.example`, subject: name, text: phone });
      await openOidc(oidc.settings).begin("http://127.0.0.1/callback");
      await speech.synthesize({ text: name, language: "en" });
      const prepared = aiAgents.prepare(agent, terms, {
        owner: "1",
        synthesize: speech.synthesize,
      });
      assert.equal(await prepared.ready(), null);
      await prepared.close();
    }),
  );
  const parent = first(named(collector, "sign in"));
  const children = childrenOf(collector, parent);
  assert.deepEqual(
    children.map((span) => [span.name, span.kind, span.attributes["server.address"]]),
    [
      ["send mail", 3, "127.0.0.1"],
      ["GET", 3, "127.0.0.1"],
      ["synthesize speech", 3, undefined],
      ["set up AI agent", 3, "127.0.0.1"],
    ],
  );
  for (const secret of [phone, name])
    assert.ok(!collector.received().includes(secret), `the collector received ${secret}`);
});

test("without an endpoint, nothing that records or exports is loaded", async (t) => {
  const service = await start(t, {});
  assert.ok((await createLead(service, { traceparent })).status < 300);
  assert.doesNotMatch(service.output(), /loaded @opentelemetry/);
});

test("a stop sends the last spans", async (t) => {
  const collector = await openCollectorStub();
  t.after(() => collector.close());
  const service = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  assert.match(service.output(), /loaded @opentelemetry/);
  await createLead(service);
  service.kill("SIGTERM");
  assert.equal(await service.ended(), 0);
  assert.equal(named(collector, "POST /api/v1/crm/workspaces/:workspaceId/leads/create").length, 1);
});

for (const [what, status] of [
  ["is down", undefined],
  ["never answers", null],
  ["answers 500", 500],
] as const) {
  test(`a collector that ${what} delays neither requests nor the stop`, async (t) => {
    const collector = await openCollectorStub(status ?? null);
    if (status === undefined) await collector.close();
    else t.after(() => collector.close());
    const service = await start(t, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    for (let i = 0; i < 5; i++) assert.ok((await createLead(service)).status < 300);
    const began = performance.now();
    service.kill("SIGTERM");
    assert.equal(await service.ended(), 0);
    assert.ok(performance.now() - began < 9_000);
  });
}
