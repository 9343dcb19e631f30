import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  makeAccount,
  makeCredits,
  type TestAccount,
} from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeEndpoint, makeEvents } from "../../../test/support/callback-factory.ts";
import {
  makeChatCampaign,
  makeChatNumber,
  makeChatTemplate,
} from "../../../test/support/chat-factory.ts";
import { rowsRead } from "../../../test/support/rows-read.ts";
import { features, permissionNames } from "../../accounts/permissions.ts";
import { moveRecipients } from "../../chat/recipients/move-recipients.ts";
import type { App } from "../../engine/app.ts";
import { relayEvents } from "../../engine/relay-events.ts";
import { openMetrics } from "../../lib/metrics.ts";
import { openInstallationGauges } from "../../reports/measure-installation.ts";
import { readOverview } from "../../reports/read-overview.ts";
import { createEndpoint } from "./create-endpoint.ts";

const campaign_endpoints = 5_000;

let api: TestApi;
let account: TestAccount;
let campaign_id: number;
before(async () => {
  api = await startApi();
  account = await makeAccount(api.app);
  await makeCredits(api.app, account, { chat: 10 });
  const number = await makeChatNumber(api.app, account);
  const template = await makeChatTemplate(api.app, account, number);
  const recipients = [{ phone: "+919700000001" }];
  campaign_id = await makeChatCampaign(api.app, account, number, template, recipients);
  await makeEndpoint(api.app, account, { types: ["lead.created"] });
  await api.app.db.pool.query(
    `insert into callback_endpoints (account_id, kind, url, secret, created_at, updated_at)
     select $1, 'campaign', 'http://127.0.0.1:1/campaign/' || n, '', now(), now() from generate_series(1, $2::int) n`,
    [account.account_id, campaign_endpoints],
  );
  await api.app.db.pool.query("analyze callback_endpoints");
});
after(() => api.close());

/** Asserts that `work` reads fewer rows than the account's campaigns have endpoints, by far. */
async function readsNoCampaignEndpoints(work: (app: App) => Promise<unknown>): Promise<void> {
  const read = await rowsRead(api.app, work);
  assert.ok(read > 0 && read < campaign_endpoints / 10, `read ${read} rows`);
}

test("a batch of sent messages does not read the endpoints of campaigns", () =>
  readsNoCampaignEndpoints(async (app) => {
    const move = { campaign_id, id: 1, dispatches: 0, state: "dispatching" } as const;
    const { account_id } = account;
    const moved = await moveRecipients(app.db.query, account_id, [move], app.clock.now());
    assert.equal(moved.length, 1);
  }));

test("the events of messages are recorded without reading the endpoints of campaigns", async () => {
  await makeEndpoint(api.app, account, { types: ["chat.message.sent"] });
  await readsNoCampaignEndpoints(async (app) => {
    const { account_id } = account;
    for (const [dispatches, state] of [
      [0, "dispatching"],
      [1, "sent"],
    ] as const)
      await moveRecipients(
        app.db.query,
        account_id,
        [{ campaign_id, id: 1, dispatches, state }],
        app.clock.now(),
      );
    const recorded = await app.db.query
      .selectFrom("events")
      .select("type")
      .where("account_id", "=", account_id)
      .where("type", "=", "chat.message.sent")
      .execute();
    assert.equal(recorded.length, 1);
  });
});

test("the relay does not read the endpoints of other campaigns", async () => {
  await makeEvents(api.app, account, [{}]);
  await readsNoCampaignEndpoints(async (app) =>
    assert.ok((await relayEvents(app, new AbortController().signal)) > 0),
  );
});

test("the creation of an endpoint does not read the endpoints of campaigns", () =>
  readsNoCampaignEndpoints((app) => {
    const { account_id, owner_id: user_id } = account;
    const actor = { account_id, user_id, token_id: null, request_id: "r" };
    const body = { url: "http://127.0.0.1:1/created" };
    return createEndpoint(app.db.query as never, actor, body, app.clock.now(), app.secrets);
  }));

test("the overview and the metrics read the failing endpoints only", async () => {
  const { account_id } = account;
  await api.app.db.pool.query(
    `update callback_endpoints set failing_since = now()
     where account_id = $1 and url = 'http://127.0.0.1:1/campaign/7'`,
    [account_id],
  );
  const of = { id: account_id, time_zone: "UTC", features: new Set(features) };
  const caller = { account: of, permissions: new Set(permissionNames) } as never;
  await readsNoCampaignEndpoints(async (app) => {
    const { failing_callbacks } = await readOverview(app, caller);
    assert.equal(failing_callbacks!.length, 1);
  });
  await readsNoCampaignEndpoints(async (app) => openInstallationGauges(app, openMetrics())());
});
