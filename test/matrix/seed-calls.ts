import type { TestApi } from "../support/api.ts";
import { failed, makeCall } from "../support/call-factory.ts";
import type { TestAccount } from "../support/account-factory.ts";
import type { Ids } from "./seed-ids.ts";

/** Creates a queued, a live and an ended call. */
export async function seedCalls(
  { app }: TestApi,
  account: TestAccount,
  mark: string,
): Promise<Pick<Ids, "queued_call_id" | "live_call_id" | "ended_call_id" | "call_campaign_id">> {
  const { node_id, trunk_id } = await app.db.query
    .selectFrom("trunk_nodes as s")
    .innerJoin("trunks as t", "t.id", "s.trunk_id")
    .select(["s.node_id", "s.trunk_id"])
    .where("t.only_account_id", "=", account.account_id)
    .executeTakeFirstOrThrow();
  const make = (call: Record<string, unknown>) =>
    makeCall(app, account, {
      call,
      asked: { reference: `${mark} reference`, remark: `${mark} remark` },
      legs: [{ number: "101" }],
      place: { node_id, trunk_id },
    });
  const queued = await make({});
  const live = await make({ stage: "talking", status: "in-progress" });
  const ended = await make({ ...failed, recording_state: "ready" });
  await app.db.query
    .insertInto("call_events")
    .values({
      account_id: account.account_id,
      call_id: ended.id,
      type: "call.completed",
      at: app.clock.now(),
      data: JSON.stringify({ reference: `${mark} reference` }),
    })
    .execute();
  return {
    queued_call_id: queued.id,
    live_call_id: live.id,
    ended_call_id: ended.id,
    call_campaign_id: ended.campaign_id,
  };
}
