// 51 accounts with a chat number each, the first with 51, all without a rate limit.
import { setTimeout as wait } from "node:timers/promises";
import { makeAccount, makeCredits, type TestAccount } from "../../test/support/account-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-factory.ts";
import type { App } from "../../server/engine/app.ts";
import { checkCampaigns, checkLedger } from "../../test/support/check-invariants.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";
import { nameOf, phoneOf } from "./recipients.ts";

/** Where the campaigns are that send at the same time. */
export const places = ["alone", "same number", "same account", "other accounts"] as const;
export type Place = (typeof places)[number];

export const campaigns_beside = 50;
const credits = 100_000_000;
const poll_ms = 50;
const hour_ms = 3_600_000;

type Sender = {
  readonly account: TestAccount;
  readonly number: Awaited<ReturnType<typeof makeChatNumber>>;
  readonly template_id: number;
};
type Campaign = { readonly account_id: number; readonly id: number; readonly number_id: number };

export type ManyFixture = {
  /** Creates campaigns that are not sent yet, with `messages` recipients together. */
  makeCampaigns(place: Place, messages: number): Promise<Campaign[]>;
  /** Starts sending them all; resolves when they are completed. */
  sendCampaigns(campaigns: readonly Campaign[]): Promise<void>;
  checkpoint(): Promise<void>;
  /** Throws unless counts, states and the ledger match. */
  checkInvariants(): Promise<void>;
  close(): Promise<void>;
};

export async function openManyFixture(database_url: string): Promise<ManyFixture> {
  const app = openBenchApp(database_url);
  const { pool } = app.db;
  const senders = await makeSenders(app);
  // Due in an hour, until sendCampaigns starts them.
  const later = { ...app, clock: { now: () => new Date(Date.now() + hour_ms) } };
  const due = "unnest($1::bigint[], $2::bigint[]) d (account_id, id)";
  const keysOf = (campaigns: readonly Campaign[]) => [
    campaigns.map(({ account_id }) => account_id),
    campaigns.map(({ id }) => id),
  ];

  return {
    async makeCampaigns(place, messages) {
      const campaigns: Campaign[] = [];
      const share = messages / senders[place].length;
      for (const { account, number, template_id } of senders[place]) {
        const recipients = Array.from({ length: share }, (_, i) => ({
          phone: phoneOf(campaigns.length * share + i),
          variables: { 1: nameOf(i) },
        }));
        const id = await makeChatCampaign(later, account, number, template_id, recipients);
        campaigns.push({ account_id: account.account_id, id, number_id: number.id });
      }
      return campaigns;
    },
    async sendCampaigns(campaigns) {
      await pool.query(
        `update chat_campaigns c set work_at = now() from ${due}
         where c.account_id = d.account_id and c.id = d.id`,
        keysOf(campaigns),
      );
      for (const { account_id, number_id } of campaigns)
        app.notifications.send("chat_work", `${account_id}:${number_id}`);
      const isRunning = async () => {
        const { rows } = await pool.query(
          `select from chat_campaigns c join ${due} on c.account_id = d.account_id and c.id = d.id
           where c.state = 'running' limit 1`,
          keysOf(campaigns),
        );
        return rows.length > 0;
      };
      while (await isRunning()) await wait(poll_ms);
    },
    checkpoint: async () => void (await pool.query("checkpoint")),
    async checkInvariants() {
      await checkCampaigns(pool);
      await checkLedger(pool);
    },
    close: app.close,
  };
}

/** Creates the accounts with credit, and their numbers with a template. */
async function makeSenders(app: App): Promise<Readonly<Record<Place, readonly Sender[]>>> {
  const makeSender = async (account: TestAccount): Promise<Sender> => {
    const number = await makeChatNumber(app, account, {
      driver: "whatsapp",
      rate_per_second: 1_000_000,
    });
    const template_id = await makeChatTemplate(app, account, number, { driver: "whatsapp" });
    return { account, number, template_id };
  };
  const makeOwner = async () => {
    const account = await makeAccount(app);
    await makeCredits(app, account, { chat: credits });
    return account;
  };
  const beside = Array.from({ length: campaigns_beside });
  const first = await makeSender(await makeOwner());
  const numbers = await Promise.all(beside.map(() => makeSender(first.account)));
  const others = await Promise.all(beside.map(async () => makeSender(await makeOwner())));
  return {
    alone: [first],
    "same number": [first, ...beside.map(() => first)],
    "same account": [first, ...numbers],
    "other accounts": [first, ...others],
  };
}
