// An account that sends campaigns through a provider in this process; the test chooses the provider's
// response to each message.
import {
  ChatSendError,
  type Accepted,
  type ChatDriver,
  type ChatSender,
  type Outgoing,
} from "../../server/drivers/chat/driver.ts";
import { openSenders } from "../../server/chat/sender/open-senders.ts";
import { drainCampaign } from "../../server/chat/campaigns/drain-campaign.ts";
import { startCampaign } from "../../server/chat/campaigns/start-campaign.ts";
import type { App } from "../../server/engine/app.ts";
import { runLoop } from "../../server/engine/run-loop.ts";
import { workJobs } from "../../server/engine/work-jobs.ts";
import { default_settings } from "../../server/worker.ts";
import { startApi, type Answer, type TestApi } from "./api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
  type TestChatNumber,
} from "./chat-factory.ts";
import { makeAccount, makeCredits, unique, type TestAccount } from "./account-factory.ts";

export type TestProvider = {
  /** The requests in the order in which they began; `at` is monotonic. */
  readonly sent: { readonly outgoing: Outgoing; readonly at: number }[];
  answer(outgoing: Outgoing, signal?: AbortSignal): Promise<Accepted>;
};

type ChatRecipient = { readonly phone: string; readonly variables?: Record<string, string> };

/** Returns the provider's response to a message that it accepts. */
export const takeMessage = async ({ message_id }: Outgoing): Promise<Accepted> => ({
  provider_message_id: `wamid.${message_id}`,
});

/** Takes a message by the marketing route only, as for some businesses. */
export const requireMarketing = async (outgoing: Outgoing): Promise<Accepted> => {
  if (outgoing.route === "marketing") return takeMessage(outgoing);
  throw new ChatSendError("rejected", "requires the marketing route", { code: 131_063 });
};

export type ChatFixture = {
  readonly api: TestApi;
  readonly app: App;
  readonly provider: TestProvider;
  /** Sends a request as the account, below /api/v1/chat/campaigns. */
  ask(method: string, path: string, json?: unknown): Promise<Answer>;
  /** The account's number and template, which its campaigns use. */
  readonly account: TestAccount;
  readonly number: TestChatNumber;
  readonly template_id: number;
  /** Creates a running campaign to these recipients, or to this many new numbers; returns its ID. */
  campaign(recipients: number | readonly ChatRecipient[]): Promise<number>;
  /** Runs senders, as a worker does, until it is stopped or the test ends. */
  startSenders(): { stop(): Promise<void> };
  /** Runs every due job. */
  workJobs(): Promise<void>;
  /** Returns the types of the account's events, in their order. */
  events(): Promise<string[]>;
  /** Returns the actions of the audit trail, in their order. */
  audit(): Promise<string[]>;
};

export type ChatFixtureApi = {
  readonly api: TestApi;
  /** The providers by the provider's ID of the sending number. */
  readonly providers: Map<string, TestProvider>;
  /** Passes each message to the provider of its sending number. */
  readonly driver: ChatDriver;
};

/** Starts the API with the fixtures' providers as its sandbox driver; close `api` in `after`. */
export async function startChatFixtureApi(): Promise<ChatFixtureApi> {
  const providers = new Map<string, TestProvider>();
  const driver = {
    send: async (from: ChatSender, outgoing: Outgoing, signal?: AbortSignal) => {
      const provider = providers.get(from.phone_number_id)!;
      provider.sent.push({ outgoing, at: performance.now() });
      return provider.answer(outgoing, signal);
    },
  } as unknown as ChatDriver;
  return { api: await startApi({ chatDrivers: { sandbox: driver } }), providers, driver };
}

/** Creates an account on that API, whose provider accepts every message until the test changes `answer`. */
export async function openChatFixture(
  t: { after(undo: () => Promise<void>): void },
  { api, providers }: ChatFixtureApi,
  options: Parameters<typeof makeChatNumber>[2] & {
    readonly variable_defaults?: Record<string, string>;
  } = {},
): Promise<ChatFixture> {
  const { variable_defaults, ...ofNumber } = options;
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 100_000 });
  const number = await makeChatNumber(app, account, ofNumber);
  const provider: TestProvider = { sent: [], answer: takeMessage };
  providers.set(number.provider_phone_number_id, provider);
  const ofTemplate = variable_defaults ? { variable_defaults } : {};
  const template_id = await makeChatTemplate(app, account, number, ofTemplate);
  return {
    api,
    app,
    provider,
    account,
    number,
    template_id,
    ask: (method, path, json) =>
      api.send(method, `/api/v1/chat/campaigns${path}`, { token: account.token, json }),
    campaign: (recipients) => {
      const rows = typeof recipients === "number" ? phones(recipients) : recipients;
      return makeChatCampaign(app, account, number, template_id, rows);
    },
    startSenders() {
      const senders = openSenders(app, default_settings);
      const iterate = () => senders.startDue();
      const loop = runLoop(app, { name: "senders", channel: "chat_work", poll_ms: 100, iterate });
      const stop = async () => {
        await loop.stop();
        await senders.stop();
      };
      t.after(stop);
      return { stop };
    },
    async workJobs() {
      const handlers = {
        "chat.drain_campaign": drainCampaign,
        "chat.start_campaign": startCampaign,
      };
      while ((await workJobs(app, handlers, new AbortController().signal)) > 0);
    },
    async events() {
      const rows = await app.db.query
        .selectFrom("events")
        .select("type")
        .where("account_id", "=", account.account_id)
        .orderBy("id")
        .execute();
      return rows.map(({ type }) => type);
    },
    async audit() {
      const rows = await app.db.query
        .selectFrom("audit_entries")
        .select("action")
        .where("account_id", "=", account.account_id)
        .where("user_id", "is not", null)
        .orderBy("id")
        .execute();
      return rows.map(({ action }) => action);
    },
  };
}

function phones(count: number): { phone: string }[] {
  return Array.from({ length: count }, () => ({
    phone: `9198${unique("").slice(1).padStart(8, "0")}`,
  }));
}
