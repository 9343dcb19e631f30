// Submits a click-to-call (contract 4.4): stores the request and its first call and reserves the credit
// of both legs, in one statement. The leader of the call's node places it.
import type { Caller } from "../../accounts/caller.ts";
import type { UserActor } from "../../accounts/audit/record-audit.ts";
import type { App } from "../../engine/app.ts";
import { statement, type Executor } from "../../lib/database/database.ts";
import { describeSpan } from "../../lib/tracing/tracing.ts";
import { Refusal, invalid } from "../../lib/errors.ts";
import { openShares } from "../../lib/shares.ts";
import {
  noPickPolicies,
  type ClickToCallResponse,
  type NewClickToCall,
  type NoPickPolicy,
} from "./click-to-call-schema.ts";
import type { TrunkOnNode } from "../../telephony/trunks/choose-trunk.ts";
import { validateClickToCall, type ValidatedClickToCall } from "./validate-click-to-call.ts";
import { credits_per_call, type NewCall } from "./queue-call.ts";
import { refuseBeyondCap } from "./refuse-beyond-cap.ts";
import { refuseDestination } from "./refuse-destination.ts";
import { refuseOutsideWindow } from "./refuse-outside-window.ts";

/** The account of the call, and the actor of the request. */
export type ClickToCallOwner = {
  readonly account: Pick<Caller["account"], "id" | "country_code" | "time_zone">;
  readonly actor: UserActor;
};

/**
 * Limits concurrent submissions: those of one account wait for its balance's lock, and would otherwise
 * take the connections that the leader needs to place calls.
 */
const submissions = openShares(4, 2, 1_000);

/**
 * Queues the call in the only statement of `write` and returns its campaign ID. Refuses, in this order
 * and without any effect: validation-failed, forbidden (outside the calling window, or a country that the account
 * may not call), rate-limited (a cap on calls), internal-error (no usable trunk), insufficient-credit.
 */
export async function clickToCall(
  app: App,
  owner: ClickToCallOwner,
  write: <Answer>(effect: (db: Executor) => Promise<Answer>) => Promise<Answer>,
  request: NewClickToCall,
): Promise<ClickToCallResponse> {
  const { account, actor } = owner;
  const now = app.clock.now();
  const submitter = { account, token_id: actor.token_id };
  const validated = await validateClickToCall(app, submitter, request, now);
  if (validated.violations.length > 0) throw invalid(validated.violations);
  refuseOutsideWindow(validated.window, validated.customer_zones, validated.scheduled_at ?? now);
  refuseDestination(validated.blocker);
  refuseBeyondCap(validated.cap, "`to_number` or `from_number`", now);
  const { trunk } = validated;
  if (!trunk)
    throw new Refusal(
      "internal-error",
      "The call cannot be placed: the account has no usable trunk",
      {
        cause: new Error(`account ${account.id} has no active trunk on an active node`),
      },
    );
  const answer = await submissions.use(actor.account_id, () =>
    write(async (db) => {
      const campaignId = await submitCall(db, owner, request, { ...validated, trunk }, now);
      describeSpan({ "trunkline.campaign.id": campaignId });
      return {
        status: 200 as const,
        message: "Campaign Submitted Successfully" as const,
        data: { campaignId },
      };
    }),
  );
  if (!validated.scheduled_at)
    app.notifications.send("call_work", `${trunk.node_id}:${actor.account_id}:${trunk.trunk_id}`);
  return answer;
}

const submit = statement<{ campaign_id: number }>(
  "select submit_click_to_call($1, $2, $3, $4, $5) as campaign_id",
);

async function submitCall(
  db: Executor,
  { account, actor }: ClickToCallOwner,
  request: NewClickToCall,
  validated: ValidatedClickToCall & { readonly trunk: TrunkOnNode },
  now: Date,
): Promise<number> {
  const stored = clickToCallRow(account, request, validated);
  const { node_id, trunk_id } = validated.trunk;
  const call: Omit<NewCall, "campaign_id"> = {
    account_id: account.id,
    attempt: 1,
    retried_leg: null,
    node_id,
    trunk_id,
    from_number: validated.from,
    to_number: stored.to_number,
    to_phone: stored.to_phone,
    cli_number: stored.cli_number,
    due_at: validated.scheduled_at ?? now,
  };
  const rows = [stored, call, actor].map((row) => JSON.stringify(row));
  try {
    const [submitted] = await submit(db, [...rows, credits_per_call, now]);
    return submitted!.campaign_id;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "TL002") throw error;
    throw new Refusal(
      "insufficient-credit",
      `Insufficient call credit: the call needs ${credits_per_call}`,
    );
  }
}

/** Returns the columns of click_to_calls. */
function clickToCallRow(
  { id, country_code }: ClickToCallOwner["account"],
  request: NewClickToCall,
  validated: ValidatedClickToCall,
) {
  const { agent_not_pick_group_id, from_group_id, to_group_id } = validated;
  const agent_not_pick_policy = request.agent_not_pick_policy || null;
  return {
    account_id: id,
    from_number: request.from_number,
    to_number: request.to_number,
    to_phone: country_code + request.to_number,
    cli_number: request.cli_number ?? null,
    source: request.source || null,
    agent_not_pick_group_id,
    agent_not_pick_policy,
    policy_applied: policyApplied(agent_not_pick_policy, agent_not_pick_group_id !== null),
    max_retry: request.max_retry ?? 0,
    retry_after_minutes: request.retry_after ?? 5,
    customer_retry_count: request.customer_retry_count ?? 3,
    agent_retry_count: request.agent_retry_count ?? 3,
    extension_for_transfer: request.extension_for_transfer ?? null,
    extension_for_dis: request.extension_for_dis ?? null,
    scheduled_at: validated.scheduled_at,
    enable_chat: isSwitchedOn(request.enable_chat ?? ""),
    from_group_id,
    to_group_id,
    auto_block_minutes: validated.auto_block_minutes,
    remark: request.remark || null,
    reference: request.reference || null,
    callback_method: request.callback_method?.toUpperCase() || null,
  };
}

/** Returns the policy in effect: `hangup` for a group policy without a group; the default if unknown. */
function policyApplied(requested: string | null, hasGroup: boolean): NoPickPolicy {
  const known = noPickPolicies.find((policy) => policy === requested);
  if (known === "hangup" || known === "retry_agent") return known;
  return hasGroup ? (known ?? "next_in_group") : "hangup";
}

function isSwitchedOn(text: string): boolean {
  return !["", "0", "false", "no"].includes(text.trim().toLowerCase());
}
