import { sql, type Kysely } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { agent_took_leg } from "../agent-took-leg.ts";
import { addAttempt } from "./add-attempt.ts";
import { credits_per_call } from "../click-to-call/queue-call.ts";
import { customerZones, findCustomerHours } from "../customer-hours.ts";
import { refuseOutsideWindow } from "../click-to-call/refuse-outside-window.ts";

export type RetriedLeg = "agent" | "customer";

export type Retry = { readonly id: number; readonly leg: RetriedLeg };

/**
 * Retries a call that did not connect agent and customer, as the campaign's next attempt. `leg` is the
 * party that did not answer in the last attempt that dialed one, whichever of the campaign's calls is named; each has
 * its own limit, and concurrent retries are counted one at a time.
 * The caller sends `call_work` after the commit. Refuses: not-found; conflict if the parties talked, a
 * call of the campaign has not ended, the limit is reached, the customer was erased, the call's trunk is
 * inactive, the call's node or trunk was deleted, or the call belongs to a voice campaign; forbidden outside the calling window; insufficient-credit.
 */
export async function retryCall(
  tx: Tx,
  actor: Actor,
  { id, leg }: Retry,
  now: Date,
): Promise<{ call_id: number; node_id: number }> {
  const { account_id } = actor;
  const { id: campaign_id, kind } = await lockCampaign(tx, account_id, id);
  if (kind === "voice")
    throw conflict("The call belongs to a voice campaign, which retries by its own settings");
  if (kind !== "click_to_call") throw conflict("An incoming call cannot be placed again");
  const plan = await findPlan(tx, { account_id, campaign_id });
  const calls = await findCalls(tx, { account_id, campaign_id });
  refuseUnlessFailed(calls, await hasAgentAnswered(tx, { account_id, campaign_id }), { id, leg });
  const limit = leg === "agent" ? plan.agent_retry_count : plan.customer_retry_count;
  if (calls.filter(({ retried_leg }) => retried_leg === leg).length >= limit)
    throw conflict(`The ${leg} has been retried ${limit} times, the limit of this call`);
  await refuseOutsideHours(tx, account_id, calls[0]!.to_phone, now);
  await recordAudit(tx, actor, {
    at: now,
    action: "call.retried",
    subject_id: id,
    detail: { leg },
  });
  // Last, because it locks the account's balance.
  const added = await addAttempt(
    tx,
    { account_id, campaign_id, retried_leg: leg, due_at: now },
    now,
  );
  if (added === "no_trunk")
    throw conflict(
      "The trunk of the call is inactive or deleted, so the call cannot be retried; place a new call",
    );
  if (added === "no_node")
    throw conflict("The node of the call has been deleted, so the call cannot be retried");
  if (added !== "insufficient_credit") return added;
  throw new Refusal(
    "insufficient-credit",
    `Insufficient call credit: the call needs ${credits_per_call}`,
  );
}

type CampaignKey = { readonly account_id: number; readonly campaign_id: number };

/** Locks the call's campaign, which serializes its retries. Refuses: not-found. */
async function lockCampaign(tx: Tx, accountId: number, callId: number) {
  const campaign = await tx
    .selectFrom("call_campaigns as m")
    .select(["m.id", "m.kind"])
    .where("m.account_id", "=", accountId)
    .where("m.id", "=", (eb) =>
      eb
        .selectFrom("calls as c")
        .select("c.campaign_id")
        .where("c.account_id", "=", accountId)
        .where("c.id", "=", callId),
    )
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!campaign) throw notFound();
  return campaign;
}

function findPlan(db: Kysely<DB>, { account_id, campaign_id }: CampaignKey) {
  return db
    .selectFrom("click_to_calls")
    .select(["agent_retry_count", "customer_retry_count"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .executeTakeFirstOrThrow();
}

function findCalls(db: Kysely<DB>, { account_id, campaign_id }: CampaignKey) {
  return db
    .selectFrom("calls")
    .select(["id", "stage", "answered_at", "retried_leg", "to_phone"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .execute();
}

/** Whether an agent answered in the last attempt that dialed a leg, which the next one follows. */
async function hasAgentAnswered(
  db: Kysely<DB>,
  { account_id, campaign_id }: CampaignKey,
): Promise<boolean> {
  const last = await db
    .selectFrom("call_legs as l")
    .innerJoin("calls as c", (on) =>
      on.onRef("c.account_id", "=", "l.account_id").onRef("c.id", "=", "l.call_id"),
    )
    .select(sql<boolean>`bool_or(l.role = 'agent' and ${sql.raw(agent_took_leg)})`.as("answered"))
    .where("l.account_id", "=", account_id)
    .where("c.account_id", "=", account_id)
    .where("c.campaign_id", "=", campaign_id)
    .groupBy("c.attempt")
    .orderBy("c.attempt", "desc")
    .limit(1)
    .executeTakeFirst();
  return last?.answered ?? false;
}

function refuseUnlessFailed(
  calls: Awaited<ReturnType<typeof findCalls>>,
  hasAgent: boolean,
  { id, leg }: Retry,
): void {
  const open = calls.find(({ stage }) => stage !== "ended");
  if (open?.id === id) throw conflict("The call has not ended yet");
  if (open) throw conflict(`Call ${open.id} of the same campaign has not ended yet`);
  if (calls.some(({ to_phone }) => to_phone === ""))
    throw conflict("The customer's data has been erased, so the call cannot be retried");
  if (calls.some(({ answered_at }) => answered_at !== null))
    throw conflict("The agent and the customer have talked, so the call cannot be retried");
  if (leg === "agent" && hasAgent) throw conflict("The agent answered; retry the customer instead");
  if (leg === "customer" && !hasAgent)
    throw conflict("No agent answered, so the customer was not called; retry the agent instead");
}

async function refuseOutsideHours(
  tx: Tx,
  accountId: number,
  to_phone: string,
  now: Date,
): Promise<void> {
  const [hours] = await findCustomerHours(tx, [accountId, to_phone]);
  refuseOutsideWindow(hours!, customerZones({ ...hours!, to_phone }), now);
}

function conflict(detail: string): Refusal {
  return new Refusal("conflict", detail);
}
