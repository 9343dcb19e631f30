import { operatorOf } from "../../server/accounts/grantor.ts";
import { createEndpoint } from "../../server/callbacks/create-endpoint.ts";
import type { TestApi } from "../support/api.ts";
import type { TestAccount } from "../support/makers.ts";
import type { Ids } from "./seed-ids.ts";

/** An enabled endpoint of the account, which has no other: there may be 50, and seeds come more often. */
export async function seedCallbacks(
  { app }: TestApi,
  { account_id }: TestAccount,
  mark: string,
): Promise<Pick<Ids, "callback_endpoint_id">> {
  const { actor } = operatorOf(account_id, "req_test");
  const wanted = { url: "https://example.com/callbacks", description: `${mark} endpoint` };
  const { id } = await app.db.query.transaction().execute(async (tx) => {
    await tx
      .deleteFrom("callback_endpoints")
      .where("account_id", "=", account_id)
      .where("kind", "=", "account")
      .execute();
    return createEndpoint(tx, actor, wanted, app.clock.now());
  });
  return { callback_endpoint_id: id };
}
