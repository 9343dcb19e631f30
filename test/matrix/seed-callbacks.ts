import { operatorOf } from "../../server/accounts/roles/grantor.ts";
import { createEndpoint } from "../../server/callbacks/endpoints/create-endpoint.ts";
import type { TestApi } from "../support/api.ts";
import { makeEvents } from "../support/callback-factory.ts";
import type { TestAccount } from "../support/account-factory.ts";
import type { Ids } from "./seed-ids.ts";

/**
 * Creates an enabled endpoint with a failed delivery and a replay. Deletes the account's other endpoints
 * first, because their number is limited to 50 and this may be called more often.
 */
export async function seedCallbacks(
  { app }: TestApi,
  account: TestAccount,
  mark: string,
): Promise<Pick<Ids, "callback_endpoint_id" | "callback_delivery_id" | "callback_replay_id">> {
  const { account_id } = account;
  const { actor } = operatorOf(account_id, "req_test");
  const wanted = { url: "https://example.com/callbacks", description: `${mark} endpoint` };
  const at = app.clock.now();
  const { id: endpoint_id } = await app.db.query.transaction().execute(async (tx) => {
    await tx
      .deleteFrom("callback_endpoints")
      .where("account_id", "=", account_id)
      .where("kind", "=", "account")
      .execute();
    return createEndpoint(tx, actor, wanted, at, app.secrets);
  });
  const [event_id] = await makeEvents(app, account, [{ data: { name: `${mark} lead` } }]);
  const stamps = { due_at: at, created_at: at, finished_at: at };
  const event = { account_id, event_id: event_id!, type: "lead.created", seq: event_id! };
  const { id } = await app.db.query
    .insertInto("callback_deliveries")
    .values({ ...event, ...stamps, endpoint_id, state: "failed" })
    .returning("id")
    .executeTakeFirstOrThrow();
  const { id: callback_replay_id } = await app.db.query
    .insertInto("callback_replays")
    .values({
      account_id,
      endpoint_id,
      include: "all",
      state: "completed",
      from_at: at,
      to_at: at,
      reached_at: at,
      created_at: at,
      finished_at: at,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return { callback_endpoint_id: endpoint_id, callback_delivery_id: id, callback_replay_id };
}
