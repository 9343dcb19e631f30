// An account that sends campaigns through a provider in this process: what each message gets is the
// test's to say.
import type {
  Accepted,
  ChatDriver,
  ChatSender,
  Outgoing,
} from "../../server/drivers/chat/driver.ts";
import { openSenders } from "../../server/chat/sender/send-campaigns.ts";
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
  /** In the order in which the requests began; `at` is monotonic. */
  readonly sent: { readonly outgoing: Outgoing; readonly at: number }[];
  answer(outgoing: Outgoing): Promise<Accepted>;
};

export const takeMessage = async ({ message_id }: Outgoing): Promise<Accepted> => ({
  provider_message_id: `wamid.${message_id}`,
});

export type ChatFixture = {
  readonly api: TestApi;
  readonly app: App;
  readonly provider: TestProvider;
  /** Sends a request as the account, below /api/v1/chat/campaigns. */
  ask(method: string, path: string, json?: unknown): Promise<Answer>;
  /** The account's number and template, which the campaigns are made of. */
  readonly account: TestAccount;
  readonly number: TestChatNumber;
  readonly template_id: number;
  /** A running campaign of so many recipients; returns its id. */
  campaign(recipients: number): Promise<number>;
  /** Starts sending as a worker does, until it is stopped, or the test ends. */
  startSenders(): { stop(): Promise<void> };
  /** Does every job that is due. */
  workJobs(): Promise<void>;
  /** Events of the account, as `type`, in their order. */
  events(): Promise<string[]>;
  /** What users did, as the audit trail's actions in their order. */
  audit(): Promise<string[]>;
};

export type ChatFixtureApi = {
  readonly api: TestApi;
  /** By the provider's id of the number that sends. */
  readonly providers: Map<string, TestProvider>;
};

/** The API with the scenes' providers for its sandbox; close `api` in `after`. */
export async function startChatFixtureApi(): Promise<ChatFixtureApi> {
  const providers = new Map<string, TestProvider>();
  const driver = {
    send: async (from: ChatSender, outgoing: Outgoing) => {
      const provider = providers.get(from.phone_number_id)!;
      provider.sent.push({ outgoing, at: performance.now() });
      return provider.answer(outgoing);
    },
  } as unknown as ChatDriver;
  return { api: await startApi({ chatDrivers: { sandbox: driver } }), providers };
}

/** A new account on that API, whose provider takes everything until it is told otherwise. */
export async function openChatFixture(
  t: { after(undo: () => Promise<void>): void },
  { api, providers }: ChatFixtureApi,
  ofNumber: Parameters<typeof makeChatNumber>[2] = {},
): Promise<ChatFixture> {
  const { app } = api;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: 100_000 });
  const number = await makeChatNumber(app, account, ofNumber);
  const provider: TestProvider = { sent: [], answer: takeMessage };
  providers.set(number.provider_phone_number_id, provider);
  const template_id = await makeChatTemplate(app, account, number);
  return {
    api,
    app,
    provider,
    account,
    number,
    template_id,
    ask: (method, path, json) =>
      api.send(method, `/api/v1/chat/campaigns${path}`, { token: account.token, json }),
    campaign: (recipients) =>
      makeChatCampaign(app, account, number, template_id, phones(recipients)),
    startSenders() {
      const senders = openSenders(app, default_settings);
      const turn = () => senders.startDue();
      const loop = runLoop(app, { name: "senders", channel: "chat_work", poll_ms: 100, turn });
      const stop = async () => {
        await loop.stop();
        await senders.stop();
      };
      t.after(stop);
      return { stop };
    },
    async workJobs() {
      const handlers = { "chat.wind_down": drainCampaign, "chat.start_campaign": startCampaign };
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
