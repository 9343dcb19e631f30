// A stub of the WhatsApp Cloud API: a real HTTP server that accepts messages, posts signed webhooks, injects errors and
// keeps its own log.
import { isBsuid } from "../../../server/lib/bsuid.ts";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { graphError, type StubAnswer } from "./answers.ts";
import { openControl } from "./control.ts";
import { openErrorInjector, takes, type InjectedError } from "./injected-errors.ts";
import { openReceivedLog, type LogEntry, type Repeated } from "./received-log.ts";
import { default_settings, type StubSettings } from "./settings.ts";
import { openTemplates, type StubTemplate } from "./templates.ts";
import { openWebhooks, type AcceptedMessage, type WebhookCounts } from "./webhooks.ts";

export type StubCounts = {
  /** Requests for messages, including those cut before their body. */
  readonly requests: number;
  /** Accepted messages, even if the sender got no response. */
  readonly taken: number;
  readonly by_outcome: Readonly<Record<string, number>>;
  /** Log entries: all requests except those that were cut before their body or unauthorized. */
  readonly logged: number;
  /** The most messages that waited for a response at one time. */
  readonly in_flight_max: number;
  readonly webhooks: WebhookCounts;
};

export type Reply = {
  /** Digits. */
  readonly from: string;
  readonly phone_number_id?: string;
  /** A text, unless `message` has the fields of another type: {type: "button", button: {…}}. */
  readonly text?: string;
  readonly message?: Readonly<Record<string, unknown>>;
};

export type ProviderStub = {
  readonly url: string;
  /** The URL for the driver, with a version. */
  readonly api_url: string;
  set(settings: Partial<StubSettings>): void;
  settings(): StubSettings;
  /** Replaces all injected errors and restarts the message count of `nth` and `every`. */
  setErrors(errors: readonly InjectedError[], seed?: number): void;
  counts(): StubCounts;
  log(from?: number, limit?: number): LogEntry[];
  /** Returns the message IDs that were received more than once. */
  repeated(): Repeated[];
  /** Posts a customer's reply; resolves when the webhook gets a 200 response or is given up. */
  reply(reply: Reply): Promise<void>;
  /** Stops or resumes marketing messages to a customer. */
  prefer(from: string, stop: boolean): Promise<void>;
  /** Changes a template's status, quality or category and posts the webhook. */
  changeTemplate(
    name: string,
    change: { status?: string; quality?: string; category?: string; reason?: string },
  ): Promise<void>;
  /** Posts any body with a signature. */
  postBody(body: unknown): Promise<void>;
  /** Clears messages, templates, injected errors and counts; keeps settings. */
  reset(): void;
  /** Closes every idle connection, as a provider may at any time. */
  closeConnections(): void;
  close(): Promise<void>;
};

const json = "application/json; charset=UTF-8";

/** Starts the stub on 127.0.0.1; `port` 0 is any free port, each log entry is appended to `log_file`. */
export async function startProviderStub(
  options: Partial<StubSettings> & { port?: number; log_file?: string } = {},
): Promise<ProviderStub> {
  const { port = 0, log_file, ...given } = options;
  let settings: StubSettings = { ...default_settings, ...given };
  const log = openReceivedLog(log_file);
  const injector = openErrorInjector();
  const templates = openTemplates();
  const webhooks = openWebhooks(() => settings);
  const hanging = new Set<NodeJS.Timeout>();
  const outcomes = new Map<string, number>();
  const run = process.hrtime.bigint().toString(36);
  let requests = 0;
  let taken_count = 0;
  let in_flight = 0;
  let in_flight_max = 0;
  let last_message = 0;
  let last_media = 0;

  const after = (ms: number, then: () => void) => {
    if (ms <= 0) return then();
    const timer = setTimeout(() => {
      hanging.delete(timer);
      then();
    }, ms);
    hanging.add(timer);
  };

  const acceptMessage = (
    request: IncomingMessage,
    response: ServerResponse,
    phone_number_id: string,
    endpoint: string,
  ) => {
    requests += 1;
    if (injector.cutsBeforeBody()) {
      outcomes.set("cut_before_body", (outcomes.get("cut_before_body") ?? 0) + 1);
      request.socket.destroy();
      return;
    }
    if (request.headers.authorization !== `Bearer ${settings.access_token}`) {
      request.resume();
      return send(response, graphError(190));
    }
    in_flight += 1;
    if (in_flight > in_flight_max) in_flight_max = in_flight;
    response.once("close", () => (in_flight -= 1));
    readBody(request, (raw) => {
      const message = parse(raw);
      const to = addressOf(message);
      const id = message?.["biz_opaque_callback_data"];
      if (message?.["messaging_product"] !== "whatsapp" || to === null)
        return send(response, graphError(100));
      const injected = injector.choose(to);
      const outcome = injected === null ? "accepted" : outcomeOf(injected);
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      let provider_message_id = "";
      if (injected === null || takes(injected)) {
        last_message += 1;
        taken_count += 1;
        provider_message_id = `wamid.${run}${last_message.toString(36)}`;
      }
      const message_id = typeof id === "string" ? id : "";
      log.add({
        at: Date.now(),
        message_id,
        to,
        phone_number_id,
        receiver: endpoint,
        outcome,
        provider_message_id,
      });
      const taken: AcceptedMessage = {
        message_id,
        provider_message_id,
        to,
        phone_number_id,
        ...(injected?.kind === "fail_later" ? { fails_with: injected.code ?? 131_026 } : {}),
        ...(injected?.kind === "reply" ? { reply: injected.text ?? "yes" } : {}),
      };
      const wait_ms = injected?.kind === "hang" ? (injected.hang_ms ?? 30_000) : settings.delay_ms;
      const isReported = provider_message_id !== "" && injected?.kind !== "silent";
      const answer = () => {
        after(wait_ms, () => answerMessage(response, injected, taken));
        if (isReported) webhooks.follow(taken);
      };
      if (isReported && settings.order === "before_answer" && taken.fails_with === undefined)
        void webhooks.postSentNow(taken).then(answer);
      else answer();
    });
  };

  const manage = async (request: IncomingMessage, response: ServerResponse, url: URL) => {
    const [, , id = "", resource = ""] = url.pathname.split("/");
    const { promise: read, resolve } = Promise.withResolvers<Buffer>();
    readBody(request, resolve);
    const raw = await read;
    if (request.headers.authorization !== `Bearer ${settings.access_token}`)
      return send(response, graphError(190));
    const { method } = request;
    const number = settings.numbers.find((one) => one.phone_number_id === id);
    const numbers_of_account = settings.numbers.filter((one) => one.business_account_id === id);
    if (method === "POST" && resource === "media" && number) {
      const text = raw.toString("latin1");
      if (
        !text.includes('name="messaging_product"\r\n\r\nwhatsapp\r\n') ||
        !text.includes('name="file"')
      )
        return send(response, graphError(100));
      last_media += 1;
      return send(response, { status: 200, body: { id: `media-${run}-${last_media}` } });
    }
    if (resource === "message_templates" && numbers_of_account.length > 0) {
      if (method === "GET") return send(response, templates.list(id, url.searchParams));
      if (method === "DELETE")
        return send(response, templates.delete(id, url.searchParams.get("name")));
      return send(response, templates.create(id, parse(raw) ?? {}, settings.template_status));
    }
    if (method === "GET" && resource === "phone_numbers" && numbers_of_account.length > 0)
      return send(response, {
        status: 200,
        body: { data: numbers_of_account.map(describeNumber) },
      });
    if (method === "GET" && resource === "" && number)
      return send(response, { status: 200, body: describeNumber(number) });
    if (method === "GET" && resource === "" && numbers_of_account.length > 0) {
      const { marketing_messages_onboarding_status } = numbers_of_account[0]!;
      return send(response, { status: 200, body: { id, marketing_messages_onboarding_status } });
    }
    return send(response, graphError(100, 33));
  };

  const stub: Omit<ProviderStub, "url" | "api_url" | "close" | "closeConnections"> = {
    set: (some) => void (settings = { ...settings, ...some }),
    settings: () => settings,
    setErrors: (next, seed) => injector.set(next, seed),
    counts: () => ({
      requests,
      taken: taken_count,
      by_outcome: Object.fromEntries(outcomes),
      logged: log.size,
      in_flight_max,
      webhooks: webhooks.counts(),
    }),
    log: (from, limit) => log.entries(from, limit),
    repeated: () => log.repeated(),
    async reply({ from, phone_number_id, text, message }) {
      last_message += 1;
      const number = numberOf(settings, phone_number_id);
      await webhooks.postChange(number.business_account_id, "messages", {
        messaging_product: "whatsapp",
        metadata: metadataFor(number),
        contacts: [{ profile: { name: "Zoë" }, wa_id: from }],
        messages: [
          {
            from,
            id: `wamid.${run}${last_message.toString(36)}`,
            timestamp: seconds(),
            ...(message ?? { type: "text", text: { body: text ?? "" } }),
          },
        ],
      });
    },
    async prefer(from, stop) {
      const number = numberOf(settings);
      const preference = {
        wa_id: from,
        detail: "Stub",
        category: "marketing_messages",
        value: stop ? "stop" : "resume",
        timestamp: Number(seconds()),
      };
      await webhooks.postChange(number.business_account_id, "user_preferences", {
        messaging_product: "whatsapp",
        metadata: metadataFor(number),
        contacts: [{ profile: { name: "Zoë" }, wa_id: from }],
        user_preferences: [preference],
      });
    },
    async changeTemplate(name, { status, quality, category, reason }) {
      const { business_account_id } = numberOf(settings);
      const changed = templates.change(business_account_id, name, {
        ...(status === undefined ? {} : { status }),
        ...(quality === undefined ? {} : { quality_score: { score: quality } }),
        ...(category === undefined ? {} : { category }),
        ...(reason === undefined ? {} : { rejected_reason: reason }),
      });
      if (changed.length === 0) throw new Error(`template ${name} does not exist`);
      const post = (one: StubTemplate, field: string, value: object) =>
        webhooks.postChange(business_account_id, field, { ...templateFields(one), ...value });
      for (const one of changed) {
        if (status !== undefined)
          await post(one, "message_template_status_update", {
            event: status,
            reason: reason ?? "NONE",
          });
        if (quality !== undefined)
          await post(one, "message_template_quality_update", {
            previous_quality_score: "UNKNOWN",
            new_quality_score: quality,
          });
        if (category !== undefined)
          await post(one, "template_category_update", { new_category: category });
      }
    },
    postBody: (body) => webhooks.postBody(body),
    reset() {
      log.clear();
      templates.clear();
      injector.set([]);
      outcomes.clear();
      requests = 0;
      taken_count = 0;
      in_flight_max = 0;
    },
  };
  const control = openControl(stub);

  const server = createServer(
    { keepAliveTimeout: 600_000, requestTimeout: 0, connectionsCheckingInterval: 600_000 },
    (request, response) => {
      response.sendDate = false;
      const path = request.url ?? "/";
      if (request.method === "POST") {
        const [, version, id, endpoint = ""] = path.split("/");
        if (version !== "_stub" && (endpoint === "messages" || endpoint === "marketing_messages"))
          return acceptMessage(request, response, id ?? "", endpoint);
      }
      const url = new URL(path, "http://stub.test");
      if (url.pathname.startsWith("/_stub/")) {
        readBody(request, (raw) => {
          void control(request.method ?? "GET", url, raw).then((answer) => send(response, answer));
        });
        return;
      }
      void manage(request, response, url);
    },
  );
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    ...stub,
    url,
    api_url: `${url}/v23.0`,
    closeConnections: () => server.closeIdleConnections(),
    async close() {
      for (const timer of hanging) clearTimeout(timer);
      await webhooks.close();
      await closeServer(server);
      log.close();
    },
  };
}

/** Returns the phone in `to` or the BSUID in `recipient`; null if neither, or a BSUID in `to`, which Meta loses. */
function addressOf(message: Readonly<Record<string, unknown>> | null | undefined): string | null {
  const { to, recipient } = message ?? {};
  if (typeof to === "string") return isBsuid(to) ? null : to;
  return typeof recipient === "string" && isBsuid(recipient) ? recipient : null;
}

function answerMessage(
  response: ServerResponse,
  injected: InjectedError | null,
  taken: AcceptedMessage,
): void {
  const named = isBsuid(taken.to) ? "user_id" : "wa_id";
  const good = `{"messaging_product":"whatsapp","contacts":[{"input":"${taken.to}","${named}":"${taken.to}"}],"messages":[{"id":"${taken.provider_message_id}","message_status":"accepted"}]}`;
  switch (injected?.kind) {
    case "graph_500":
      return send(response, graphError(injected.code ?? 131_000, undefined, 500));
    case "plain_500":
      response.writeHead(500, { "content-type": "text/html" });
      response.end("<html><body>Sorry, something went wrong.</body></html>");
      return;
    case "throttle": {
      const { retry_after_seconds = 1, code = 130_429 } = injected;
      const headers =
        retry_after_seconds === null ? {} : { "retry-after": String(retry_after_seconds) };
      return send(response, { ...graphError(code, undefined, 429), headers });
    }
    case "refuse":
      return send(response, graphError(injected.code ?? 131_000));
    case "cut_after_body":
      response.socket?.destroy();
      return;
    case "cut_answer":
      response.writeHead(200, { "content-type": json, "content-length": String(good.length) });
      response.write(good.slice(0, good.length / 2), () => response.socket?.destroy());
      return;
    case "broken_json":
      return sendText(response, good.slice(0, good.length / 2));
    case "no_id":
      return sendText(response, `{"messaging_product":"whatsapp","messages":[{}]}`);
    default:
      return sendText(response, good);
  }
}

function outcomeOf(injected: InjectedError): string {
  return injected.code === undefined ? injected.kind : `${injected.kind}:${injected.code}`;
}

function send(response: ServerResponse, { status, body, headers }: StubAnswer): void {
  response.writeHead(status, { "content-type": json, ...headers });
  response.end(JSON.stringify(body));
}

function sendText(response: ServerResponse, text: string): void {
  response.writeHead(200, [
    "content-type",
    json,
    "content-length",
    String(Buffer.byteLength(text)),
  ]);
  response.end(text);
}

function readBody(request: IncomingMessage, done: (raw: Buffer) => void): void {
  let first: Buffer | null = null;
  let more: Buffer[] | null = null;
  request.on("data", (chunk: Buffer) => {
    if (first === null) first = chunk;
    else (more ??= [first]).push(chunk);
  });
  request.on("end", () => done(more === null ? (first ?? Buffer.alloc(0)) : Buffer.concat(more)));
}

function parse(raw: Buffer): Record<string, unknown> | null {
  try {
    return JSON.parse(raw.toString()) as Record<string, unknown>;
  } catch {
    return null;
  }
}

function numberOf(settings: StubSettings, phone_number_id?: string) {
  const found = settings.numbers.find((one) => one.phone_number_id === phone_number_id);
  return found ?? settings.numbers[0]!;
}

function metadataFor({ display_phone_number, phone_number_id }: StubSettings["numbers"][number]) {
  return { display_phone_number: display_phone_number.replaceAll(/\D/g, ""), phone_number_id };
}

function describeNumber(number: StubSettings["numbers"][number]) {
  const { phone_number_id, display_phone_number, verified_name, quality_rating } = number;
  return { id: phone_number_id, display_phone_number, verified_name, quality_rating };
}

/** Meta sends a template's ID as a number here and as text in lists. */
function templateFields({ id, name, language }: StubTemplate) {
  return {
    message_template_id: Number(id),
    message_template_name: name,
    message_template_language: language,
  };
}

function seconds(): string {
  return String(Math.floor(Date.now() / 1_000));
}

async function closeServer(server: Server): Promise<void> {
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}
