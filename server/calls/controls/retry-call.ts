import type { Kysely } from "kysely";
import type { CallingWindow } from "../../accounts/accounts/calling-window.ts";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { notFound, Refusal } from "../../lib/errors.ts";
import { addAttempt } from "./add-attempt.ts";
import { credits_a_call } from "../click-to-call/queue-call.ts";
import { refuseOutsideWindow } from "../click-to-call/refuse-outside-window.ts";

export type RetriedLeg = "agent" | "customer";

export type Retry = { readonly id: number; readonly leg: RetriedLeg };

/**
 * Calls once more what a call did not bring together, as the campaign's next attempt; notification `call_work`
 * after the commit. `leg` is whom it failed on, and each has a cap of its own; retries that come
 * together are counted one after the other. Refuses: not-found; conflict when there is nothing to
 * retry, it runs already, the cap is reached, whom it called has been erased, or a voice campaign made the call;
 * forbidden outside the calling window;
 * insufficient-credit.
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
    throw conflict("The call is a voice campaign's, which retries as its launch asked for");
  const plan = await findPlan(tx, { account_id, campaign_id });
  const calls = await findCalls(tx, { account_id, campaign_id });
  refuseUnlessFailed(calls, await hasAgentAnswered(tx, account_id, id), { id, leg });
  const cap = leg === "agent" ? plan.agent_retry_count : plan.customer_retry_count;
  if (calls.filter(({ retried_leg }) => retried_leg === leg).length >= cap)
    throw conflict(`The ${leg} has been retried ${cap} times, which is as often as was asked for`);
  refuseOutsideWindow(await findWindow(tx, account_id), now);
  await recordAudit(tx, actor, {
    at: now,
    action: "call.retried",
    subject_id: id,
    detail: { leg },
  });
  // Last, for the account's balance.
  const added = await addAttempt(
    tx,
    { account_id, campaign_id, retried_leg: leg, due_at: now },
    now,
  );
  if (added) return added;
  throw new Refusal(
    "insufficient-credit",
    `There is not enough call credit: ${credits_a_call} needed`,
  );
}

type Place = { readonly account_id: number; readonly campaign_id: number };

/** Whoever retries a call of the campaign meanwhile waits here. Refuses: not-found. */
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

function findPlan(db: Kysely<DB>, { account_id, campaign_id }: Place) {
  return db
    .selectFrom("click_to_calls")
    .select(["agent_retry_count", "customer_retry_count"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .executeTakeFirstOrThrow();
}

function findCalls(db: Kysely<DB>, { account_id, campaign_id }: Place) {
  return db
    .selectFrom("calls")
    .select(["id", "stage", "answered_at", "retried_leg", "to_phone"])
    .where("account_id", "=", account_id)
    .where("campaign_id", "=", campaign_id)
    .execute();
}

async function hasAgentAnswered(
  db: Kysely<DB>,
  accountId: number,
  callId: number,
): Promise<boolean> {
  const leg = await db
    .selectFrom("call_legs")
    .select("id")
    .where("account_id", "=", accountId)
    .where("call_id", "=", callId)
    .where("role", "=", "agent")
    .where("answered_at", "is not", null)
    .limit(1)
    .executeTakeFirst();
  return leg !== undefined;
}

function refuseUnlessFailed(
  calls: Awaited<ReturnType<typeof findCalls>>,
  hasAgent: boolean,
  { id, leg }: Retry,
): void {
  const open = calls.find(({ stage }) => stage !== "ended");
  if (open?.id === id) throw conflict("The call is not over yet");
  if (open) throw conflict(`The call ${open.id} of the same campaign is not over yet`);
  if (calls.some(({ to_phone }) => to_phone === ""))
    throw conflict("Whom it called has been erased: there is nobody to call");
  if (calls.some(({ answered_at }) => answered_at !== null))
    throw conflict("Agent and customer have talked: there is nothing to retry");
  if (leg === "agent" && hasAgent)
    throw conflict("The agent answered; what can be retried is the customer");
  if (leg === "customer" && !hasAgent)
    throw conflict("No agent answered, so that the customer was not called; retry the agent");
}

function findWindow(db: Kysely<DB>, accountId: number): Promise<CallingWindow> {
  return db
    .selectFrom("accounts")
    .select(["time_zone", "night_calling", "calling_from", "calling_to"])
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
}

function conflict(detail: string): Refusal {
  return new Refusal("conflict", detail);
}
