// What comes with a step of a call: the notice that it was placed, the next attempt, the block after it.
import { suppress, type Suppression } from "../../audience/suppressions/suppress.ts";
import { addJob } from "../../engine/add-job.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { addAttempt } from "../controls/add-attempt.ts";
import type { Call } from "../state-machine/call.ts";

/** Whether the step places the campaign's first call, and its customer is to get a message beside it. */
export function needsAnnouncement(before: Call, { attempt, initiated_at, plan }: Call): boolean {
  const isPlaced = before.initiated_at === null && initiated_at !== null;
  return isPlaced && attempt === 1 && plan.enable_chat;
}

/** Leaves the message to a worker; commits with the step that places the call. `notifyJob` after the commit. */
export async function announce(
  tx: Tx,
  { account_id, campaign_id, to_phone }: Call,
  now: Date,
): Promise<void> {
  const subject = `call_campaign:${campaign_id}`;
  const payload = { phone: to_phone, campaign_id };
  await addJob(tx, { account_id, kind: "chat.notify_call", subject, run_at: now, payload }, now);
}

/** Whether a step has anything to follow: a call's end, or the wish not to be called again. */
export function needsFollowUp(before: Call, call: Call): boolean {
  const optsOut = call.opted_out && !before.opted_out;
  if (call.stage !== "ended") return optsOut;
  if (call.voice) return optsOut || recordedBy(call) !== null;
  return call.retry_at !== null || blocks(call);
}

/** The workspace that hears of a campaign's call; of one that was not dialled there is nothing to tell. */
function recordedBy({ voice, ended_reason }: Call): number | null {
  const isDialled = ended_reason !== "held" && ended_reason !== "night_window";
  return voice && isDialled ? voice.crm_workspace_id : null;
}

/** Only a call that was placed keeps the next one away. */
function blocks({ plan, initiated_at }: Call): boolean {
  return plan.auto_block_minutes !== null && initiated_at !== null;
}

/**
 * Commits with the last step of a call, and comes after it in the transaction, for it spends what the
 * step gives back. Queues the automatic retry; where no retry follows, or there is no credit for it,
 * keeps calls from the customer as long as was asked for.
 */
export async function followUp(tx: Tx, before: Call, call: Call, now: Date): Promise<void> {
  if (call.voice) return followVoice(tx, before, call, now);
  const { account_id, campaign_id, retry_at } = call;
  if (retry_at !== null) {
    const attempt = { account_id, campaign_id, retried_leg: null, due_at: retry_at };
    if (await addAttempt(tx, attempt, now)) return;
    await takeBackRetry(tx, call);
  }
  if (blocks(call)) await block(tx, call, now);
}

/** The campaign's recipient was seen to in the step itself. */
async function followVoice(tx: Tx, before: Call, call: Call, now: Date): Promise<void> {
  const { account_id, id: call_id } = call;
  if (call.opted_out && !before.opted_out) {
    const reason = "asked for on a call";
    await suppressVoice(tx, call, { reason, source: "dtmf", expires_at: null }, now);
  }
  const workspace_id = call.stage === "ended" ? recordedBy(call) : null;
  if (workspace_id === null) return;
  const payload = { call_id, workspace_id };
  const subject = `call:${call_id}`;
  await addJob(tx, { account_id, kind: "crm.record_call", subject, run_at: now, payload }, now);
}

const forgetRetry = statement("update calls set retry_at = null where account_id = $1 and id = $2");

const correctReport = statement(`
  update call_events set data = jsonb_set(data::jsonb, '{retry_at}', 'null')::json
  where account_id = $1 and call_id = $2 and type = 'call.completed'`);

// As yet it is nobody's but this transaction's: it has no number in the outbox.
const correctEvent = statement(`
  update events set data = jsonb_set(data::jsonb, '{retry_at}', 'null')::json
  where account_id = $1 and seq is null and type = 'call.completed'
    and (data ->> 'call_id')::bigint = $2`);

/** The step told of a retry that nobody can pay. */
async function takeBackRetry(tx: Tx, { account_id, id }: Call): Promise<void> {
  await forgetRetry(tx, [account_id, id]);
  await correctReport(tx, [account_id, id]);
  await correctEvent(tx, [account_id, id]);
}

async function block(tx: Tx, call: Call, now: Date): Promise<void> {
  const until_ms = call.ended_at!.getTime() + call.plan.auto_block_minutes! * 60_000;
  const expires_at = new Date(until_ms);
  const reason = "auto_block_time of a call";
  await suppressVoice(tx, call, { reason, source: "auto_block", expires_at }, now);
}

async function suppressVoice(
  tx: Tx,
  { account_id, to_phone: phone }: Call,
  what: Pick<Suppression, "reason" | "source" | "expires_at">,
  now: Date,
): Promise<void> {
  await suppress(tx, { account_id, phone, channel: "voice", created_by: null, ...what }, now);
}
