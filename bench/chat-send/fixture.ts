// An account with a chat number without a rate limit.
import { setTimeout as wait } from "node:timers/promises";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../test/support/chat-factory.ts";
import { checkCampaigns, checkLedger } from "../../test/support/check-invariants.ts";
import { makeAccount, makeCredits } from "../../test/support/account-factory.ts";
import { nameOf, phoneOf } from "./recipients.ts";
import { openBenchApp } from "../lib/open-bench-app.ts";

export type Fixture = {
  /** Creates a campaign for `count` recipients that is not sent yet; returns its ID. */
  makeCampaign(count: number): Promise<number>;
  /** Starts sending; resolves when the campaign is completed. */
  sendCampaign(id: number): Promise<void>;
  /** Writes a checkpoint, so that no contender pays for the writes of the previous one. */
  checkpoint(): Promise<void>;
  /** Throws unless counts, states and the ledger match. */
  checkInvariants(): Promise<void>;
  close(): Promise<void>;
};

const credits = 100_000_000;
const poll_ms = 50;
const hour_ms = 3_600_000;

/** Creates the account with credit, a number and a template with one variable. */
export async function openFixture(database_url: string): Promise<Fixture> {
  const app = openBenchApp(database_url);
  const { pool } = app.db;
  const account = await makeAccount(app);
  await makeCredits(app, account, { chat: credits });
  const number = await makeChatNumber(app, account, {
    driver: "whatsapp",
    rate_per_second: 1_000_000,
  });
  const { account_id } = account;
  const template_id = await makeChatTemplate(app, account, number, { driver: "whatsapp" });
  return {
    async makeCampaign(count) {
      const recipients = Array.from({ length: count }, (_, i) => ({
        phone: phoneOf(i),
        variables: { 1: nameOf(i) },
      }));
      // Due in an hour, until sendCampaign starts it.
      const later = { ...app, clock: { now: () => new Date(Date.now() + hour_ms) } };
      return makeChatCampaign(later, account, number, template_id, recipients);
    },
    async sendCampaign(id) {
      await pool.query(
        "update chat_campaigns set work_at = now() where account_id = $1 and id = $2",
        [account_id, id],
      );
      app.notifications.send("chat_work", `${account_id}:${number.id}`);
      const state = async () => {
        const { rows } = await pool.query<{ state: string }>(
          "select state from chat_campaigns where account_id = $1 and id = $2",
          [account_id, id],
        );
        return rows[0]!.state;
      };
      while ((await state()) === "running") await wait(poll_ms);
      if ((await state()) !== "completed") throw new Error(`the campaign is ${await state()}`);
    },
    checkpoint: async () => void (await pool.query("checkpoint")),
    async checkInvariants() {
      await checkCampaigns(pool);
      await checkLedger(pool);
    },
    close: app.close,
  };
}
