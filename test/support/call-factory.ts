// Creates calls in any state, as their node leader would have stored them.
import { reserveCredits } from "../../server/credits/reserve-credits.ts";
import type { App } from "../../server/engine/app.ts";
import { makeSandboxTrunk } from "./telephony-factory.ts";
import type { TestAccount } from "./account-factory.ts";

type Account = Pick<TestAccount, "account_id" | "owner_id">;
type Values = Readonly<Record<string, unknown>>;

export type TestCall = {
  readonly id: number;
  readonly campaign_id: number;
  readonly node_id: number;
};

export type CallToMake = {
  /** Columns of the call, of the click-to-call and of each leg. */
  readonly call?: Values;
  readonly asked?: Values;
  readonly legs?: readonly Values[];
  /** The node and trunk; a new sandbox by default. */
  readonly place?: { readonly node_id: number; readonly trunk_id: number };
};

/** Creates a queued call of a new campaign, with two credits reserved unless it has ended. */
export async function makeCall(
  app: Pick<App, "db" | "clock">,
  account: Account,
  { call = {}, asked = {}, legs = [], place }: CallToMake = {},
): Promise<TestCall> {
  const { account_id, owner_id: created_by } = account;
  const { node_id, trunk_id } = place ?? (await makeSandboxTrunk(app, account));
  const now = app.clock.now();
  const numbers = { from_number: "101", to_number: "9876543210", to_phone: "919876543210" };
  return app.db.query.transaction().execute(async (tx) => {
    const { id: campaign_id } = await tx
      .insertInto("call_campaigns")
      .values({ account_id, kind: "click_to_call", created_by, created_at: now })
      .returning("id")
      .executeTakeFirstOrThrow();
    await tx
      .insertInto("click_to_calls")
      .values({ account_id, campaign_id, ...numbers, policy_applied: "hangup", ...asked })
      .execute();
    const { id, stage } = await tx
      .insertInto("calls")
      .values({
        account_id,
        campaign_id,
        attempt: 1,
        node_id,
        trunk_id,
        ...numbers,
        due_at: now,
        queued_at: now,
        ...call,
      })
      .returning(["id", "stage"])
      .executeTakeFirstOrThrow();
    for (const [i, leg] of legs.entries())
      await tx
        .insertInto("call_legs")
        .values({ account_id, call_id: id, id: i + 1, ...legDefaults, initiated_at: now, ...leg })
        .execute();
    if (stage !== "ended") {
      const of = { account_id, kind: "call", subject: `call:${id}`, amount: 2 } as const;
      const reservation_id = await reserveCredits(tx, of, now);
      await tx
        .updateTable("calls")
        .set({ reservation_id, reserved: 2 })
        .where("account_id", "=", account_id)
        .where("id", "=", id)
        .execute();
    }
    return { id, campaign_id, node_id };
  });
}

const legDefaults = {
  role: "agent",
  number: "101",
  on_trunk: false,
  state: "ended",
  status: "completed",
};

/** The columns of a call that ended because the agent did not answer. */
export const failed = {
  stage: "ended",
  status: "no-answer",
  disposition: "no_answer",
  ended_reason: "agent_no_answer",
  ended_by: "system",
} as const;
