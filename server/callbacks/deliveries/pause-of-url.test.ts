import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { makeAccount } from "../../../test/support/account-factory.ts";
import { startApi, type TestApi } from "../../../test/support/api.ts";
import { makeDelivery, makeEndpoint } from "../../../test/support/callback-factory.ts";
import { acquireLease } from "../../engine/leases.ts";

let api: TestApi;
before(async () => {
  api = await startApi();
});
after(() => api.close());

test("a pause that the old URL asked for does not hold deliveries to the new one", async () => {
  const { app } = api;
  const { account_id } = await makeAccount(app);
  const endpoint = await makeEndpoint(app, { account_id });
  const delivery = await makeDelivery(app, { account_id }, endpoint.id);
  const lease = await acquireLease(app, account_id, `callbacks:${endpoint.id}`);
  const now = api.clock.now();
  const tomorrow = new Date(now.getTime() + 86_400_000);
  let attempts = 0;
  const resumeAfter = async (url: string) => {
    const result = {
      id: delivery.id,
      attempts: attempts++,
      url,
      at: now,
      duration_ms: 1,
      status: 503,
      error: null,
      response: null,
      state: "pending",
      due_at: tomorrow,
    };
    const { rows } = await app.db.pool.query(
      "select record_and_claim_deliveries($1, $2, $3, $4, $5, 0, '{}', $6) -> 'resume_at' as at",
      [account_id, endpoint.id, lease!.fence, JSON.stringify([result]), tomorrow, now],
    );
    return rows[0].at === null ? null : new Date(rows[0].at).getTime();
  };
  assert.equal(await resumeAfter("https://old.example/"), null);
  assert.equal(await resumeAfter(endpoint.url), tomorrow.getTime());
  await lease!.release();
});
