// Submits a click-to-call (contract 4.4): what was asked, its first call and the credit of both its
// legs, in one statement. The leader of the call's node places it.
import type { Caller } from "../../accounts/caller.ts";
import type { UserActor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { statement, type Executor } from "../../lib/database/database.ts";
import { Refusal, invalid } from "../../lib/errors.ts";
import { openShares } from "../../lib/shares.ts";
import {
  noPickPolicies,
  type ClickToCallAnswer,
  type NewClickToCall,
  type NoPickPolicy,
} from "./click-to-call-schema.ts";
import type { TrunkOnNode } from "../../telephony/trunks/choose-trunk.ts";
import { validateClickToCall, type ValidatedClickToCall } from "./validate-click-to-call.ts";
import { credits_a_call, type NewCall } from "./queue-call.ts";
import { refuseOutsideWindow } from "./refuse-outside-window.ts";

/** For whom the call is, and by whom it was asked for. */
export type ClickToCallOwner = {
  readonly account: Pick<Caller["account"], "id" | "country_code" | "time_zone">;
  readonly actor: UserActor;
};

/**
 * Submissions at once: all of an account's wait for its one balance, and would take the connections
 * that the leader needs to place what was submitted.
 */
const submissions = openShares(4, 2, 1_000);

/**
 * Queues the call, in the one statement of `write`, and answers with its campaign. Refuses, in this order
 * and with nothing done: validation-failed, forbidden (outside the calling window), internal-error (no
 * trunk can be used), insufficient-credit.
 */
export async function clickToCall(
  app: App,
  owner: ClickToCallOwner,
  write: <Answer>(effect: (db: Executor) => Promise<Answer>) => Promise<Answer>,
  asked: NewClickToCall,
): Promise<ClickToCallAnswer> {
  const { account, actor } = owner;
  const now = app.clock.now();
  const validated = await validateClickToCall(app, account, asked, now);
  if (validated.violations.length > 0) throw invalid(validated.violations);
  refuseOutsideWindow(validated.window, validated.scheduled_at ?? now);
  const { trunk } = validated;
  if (!trunk)
    throw new Refusal("internal-error", "The call could not be placed: no trunk can be used", {
      cause: new Error(`account ${account.id} has no active trunk on an active node`),
    });
  const answer = await submissions.use(actor.account_id, () =>
    write(async (db) => {
      const campaignId = await submitCall(db, owner, asked, { ...validated, trunk }, now);
      return {
        status: 200 as const,
        message: "Campaign Submitted Successfully" as const,
        data: { campaignId },
      };
    }),
  );
  if (!validated.scheduled_at)
    app.notifications.send("call_work", `${trunk.node_id}:${actor.account_id}`);
  return answer;
}

const submit = statement<{ campaign_id: number }>(
  "select submit_click_to_call($1, $2, $3, $4, $5) as campaign_id",
);

async function submitCall(
  db: Executor,
  { account, actor }: ClickToCallOwner,
  asked: NewClickToCall,
  validated: ValidatedClickToCall & { readonly trunk: TrunkOnNode },
  now: Date,
): Promise<number> {
  const order = orderOf(account, asked, validated);
  const { node_id, trunk_id } = validated.trunk;
  const call: Omit<NewCall, "campaign_id"> = {
    account_id: account.id,
    attempt: 1,
    retried_leg: null,
    node_id,
    trunk_id,
    from_number: validated.from,
    to_number: order.to_number,
    to_phone: order.to_phone,
    cli_number: order.cli_number,
    due_at: validated.scheduled_at ?? now,
  };
  const rows = [order, call, actor].map((row) => JSON.stringify(row));
  try {
    const [submitted] = await submit(db, [...rows, credits_a_call, now]);
    return submitted!.campaign_id;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "TL002") throw error;
    throw new Refusal(
      "insufficient-credit",
      `There is not enough call credit: ${credits_a_call} needed`,
    );
  }
}

/** The columns of click_to_calls. */
function orderOf(
  { id, country_code }: ClickToCallOwner["account"],
  asked: NewClickToCall,
  validated: ValidatedClickToCall,
) {
  const { agent_not_pick_group_id, from_group_id, to_group_id } = validated;
  const agent_not_pick_policy = asked.agent_not_pick_policy || null;
  return {
    account_id: id,
    from_number: asked.from_number,
    to_number: asked.to_number,
    to_phone: country_code + asked.to_number,
    cli_number: asked.cli_number ?? null,
    source: asked.source || null,
    agent_not_pick_group_id,
    agent_not_pick_policy,
    policy_applied: policyApplied(agent_not_pick_policy, agent_not_pick_group_id !== null),
    max_retry: asked.max_retry ?? 0,
    retry_after_minutes: asked.retry_after ?? 5,
    customer_retry_count: asked.customer_retry_count ?? 3,
    agent_retry_count: asked.agent_retry_count ?? 3,
    extension_for_transfer: asked.extension_for_transfer ?? null,
    extension_for_dis: asked.extension_for_dis ?? null,
    scheduled_at: validated.scheduled_at,
    enable_chat: isSwitchedOn(asked.enable_chat ?? ""),
    from_group_id,
    to_group_id,
    auto_block_minutes: validated.auto_block_minutes,
    remark: asked.remark || null,
    reference: asked.reference || null,
    callback_method: asked.callback_method?.toUpperCase() || null,
  };
}

/** What becomes of a policy: without a group nobody else can be rung; an unknown name is the default. */
function policyApplied(asked: string | null, hasGroup: boolean): NoPickPolicy {
  const known = noPickPolicies.find((policy) => policy === asked);
  if (known === "hangup" || known === "retry_agent") return known;
  return hasGroup ? (known ?? "next_in_group") : "hangup";
}

function isSwitchedOn(text: string): boolean {
  return !["", "0", "false", "no"].includes(text.trim().toLowerCase());
}
