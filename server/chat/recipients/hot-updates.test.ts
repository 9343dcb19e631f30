// The updates of a recipient after its message was accepted change no indexed column, so that PostgreSQL writes no new
// index entries (HOT updates).
import assert from "node:assert/strict";
import { test } from "node:test";
import type pg from "pg";
import { startApi } from "../../../test/support/api.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { makeAccount, makeCredits } from "../../../test/support/account-factory.ts";
import { eventually } from "../../../test/support/eventually.ts";
import { openSandboxDriver } from "../../drivers/chat/sandbox/open-sandbox-driver.ts";
import { default_settings } from "../../worker.ts";
import { applyWebhooks } from "../inbound/apply-webhooks.ts";
import { openWebhookReceiver } from "../inbound/webhook-receiver.ts";
import { openSenders } from "../sender/open-senders.ts";

/** What a number of 1,000 messages a second gets in 50 ms. */
const reports_per_webhook = 50;
const recipients = 500;

test("the updates of recipients from accepted to read are HOT", async (t) => {
  /** The timers of the sandbox, by their delay. */
  const timers = new Map<number, (() => void)[]>();
  const bodies: string[] = [];
  const sandbox = openSandboxDriver({
    deliver(webhook) {
      for (let i = 0; i < webhook.reports.length; i += reports_per_webhook) {
        const reports = webhook.reports.slice(i, i + reports_per_webhook);
        bodies.push(JSON.stringify({ ...webhook, reports }));
      }
    },
    schedule: (run, delay_ms) => {
      timers.set(delay_ms, [...(timers.get(delay_ms) ?? []), run]);
      return () => {};
    },
  });
  t.after(() => sandbox.close());
  const api = await startApi({ chatDrivers: { sandbox } });
  t.after(() => api.close());
  const account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: recipients });
  const number = await makeChatNumber(api.app, account, { rate_per_second: 1_000 });
  const template = await makeChatTemplate(api.app, account, number);
  const phones = Array.from({ length: recipients }, (_, n) => ({
    phone: String(919_800_100_000 + n),
  }));
  const campaign = await makeChatCampaign(api.app, account, number, template, phones);
  const { pool } = api.app.db;
  const inState = async (state: string) => {
    const { rows } = await pool.query<{ n: number }>(
      "select count(*)::int as n from chat_recipients where account_id = $1 and campaign_id = $2 and state = $3",
      [account.account_id, campaign, state],
    );
    return rows[0]!.n;
  };

  const senders = openSenders(api.app, default_settings);
  await senders.startDue();
  await eventually(async () => (await inState("accepted")) === recipients);
  await senders.stop();

  const before = await readUpdates(pool, 2 * recipients);
  const receiver = openWebhookReceiver(api.app);
  // The end of the batch of messages, then one delay for each status.
  for (const [delay_ms, state] of [
    [50, "accepted"],
    [200, "sent"],
    [500, "delivered"],
    [1_500, "read"],
  ] as const) {
    for (const run of timers.get(delay_ms)!) run();
    for (const body of bodies.splice(0)) {
      // An update makes room by removing old versions, but not while a transaction of any other database is older.
      await pool.query("vacuum chat_recipients");
      await receiver.take("sandbox", body);
      await applyWebhooks(api.app, new AbortController().signal);
    }
    assert.equal(await inState(state), recipients);
  }
  const after = await readUpdates(pool, 5 * recipients);
  const updates = after.updates - before.updates;
  const hot = after.hot - before.hot;
  // The rest moves to another page.
  assert.ok(hot >= 0.75 * updates, `${hot} of ${updates} updates were HOT`);
});

type Updates = { readonly updates: number; readonly hot: number };

/** Returns the updates of recipients once that many have been reported. */
async function readUpdates(pool: pg.Pool, expected: number): Promise<Updates> {
  let found: Updates = { updates: 0, hot: 0 };
  await eventually(async () => {
    // Every session reports its own.
    const sessions = Array.from({ length: pool.totalCount }, () => pool.connect());
    const clients = await Promise.all(sessions);
    for (const client of clients) {
      await client.query("select pg_stat_force_next_flush()");
      client.release();
    }
    const { rows } = await pool.query<Updates>(
      `select n_tup_upd::int as updates, n_tup_hot_upd::int as hot
       from pg_stat_user_tables where relname = 'chat_recipients'`,
    );
    found = rows[0]!;
    return found.updates >= expected;
  });
  assert.equal(found.updates, expected);
  return found;
}
