// The side effects that commit with a transition: chat message, auto-block, opt-out, lead timeline.
import { addJob } from "../../../engine/add-job.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { blockCustomer, blocksCustomer, suppressVoice } from "../../controls/block-customer.ts";
import { callName, type Call } from "../../state-machine/call.ts";
import { isWithdrawn, mayHaveRung } from "../../state-machine/call-outcomes.ts";
import { recordMissedCall } from "./record-missed-call.ts";

/** Whether the transition from `before` to `call` has side effects. */
export function hasSideEffects(before: Call, call: Call): boolean {
  if (sendsMessage(before, call) || optsOut(before, call)) return true;
  if (call.stage !== "ended") return false;
  if (call.direction === "inbound") return isMissed(call);
  return recordingWorkspace(call) !== null || blocksCustomer(call);
}

/** Applies a transition's side effects. Call it after the transition is written, in the same transaction. */
export async function applySideEffects(tx: Tx, before: Call, call: Call, now: Date): Promise<void> {
  if (sendsMessage(before, call)) await queueMessage(tx, call, now);
  if (call.voice && optsOut(before, call)) await suppressCaller(tx, call, keyOf(before, call), now);
  if (call.stage !== "ended") return;
  if (call.direction === "inbound" && isMissed(call)) await recordMissed(tx, call, now);
  else if (call.voice) await queueRecord(tx, call, now);
  else if (blocksCustomer(call)) await blockCustomer(tx, call, now);
}

/**
 * Suppresses the caller who has opted out, by a key or (`key` null) in words to the AI agent, unless the caller withholds
 * the number.
 */
export async function suppressCaller(
  tx: Tx,
  call: Call,
  key: string | null,
  now: Date,
): Promise<void> {
  if (call.to_phone === "") return;
  const reason = "asked for on a call";
  const isSaid = call.voice?.content.call_type === "ai_bot" && key === null;
  const source = isSaid ? "ai_call" : "dtmf";
  const evidence = { call_id: call.id, ...(key === null ? {} : { key }) };
  await suppressVoice(tx, call, { reason, source, evidence, expires_at: null }, now);
}

/**
 * Whether the transition places a call whose customer also gets a chat message. The message is the campaign's, so that
 * further attempts do not send it again (notifyCall).
 */
function sendsMessage(before: Call, { initiated_at, click_to_call }: Call): boolean {
  return before.initiated_at === null && initiated_at !== null && click_to_call.enable_chat;
}

/** Queues the chat message beside a call. */
async function queueMessage(
  tx: Tx,
  { account_id, campaign_id, to_phone }: Call,
  now: Date,
): Promise<void> {
  const subject = `call_campaign:${campaign_id}`;
  const payload = { phone: to_phone, campaign_id };
  await addJob(tx, { account_id, kind: "chat.notify_call", subject, run_at: now, payload }, now);
}

/** Whether the caller opts out by the transition from `before` to `call`. */
export function optsOut(before: Call, call: Call): boolean {
  return call.opted_out && !before.opted_out;
}

/** Returns the key that led from `before` to `call`; null if it was another event. */
export function keyOf(before: Call, call: Call): string | null {
  return call.dtmf === before.dtmf ? null : call.dtmf.slice(-1);
}

/** Returns the workspace whose lead shows the campaign's call; null without one, or if no phone can have rung. */
function recordingWorkspace(call: Call): number | null {
  if (!call.voice || isWithdrawn(call) || !mayHaveRung(call)) return null;
  return call.voice.crm_workspace_id;
}

async function queueRecord(tx: Tx, call: Call, now: Date): Promise<void> {
  const { account_id, id: call_id } = call;
  const workspace_id = recordingWorkspace(call);
  if (workspace_id === null) return;
  const payload = { call_id, workspace_id };
  const subject = `call:${call_id}`;
  await addJob(tx, { account_id, kind: "crm.record_call", subject, run_at: now, payload }, now);
}

/**
 * Whether an inbound call ended before it was answered, while its caller waited for an agent, or because the menu could
 * not be played. A lost one may have ended so, unless an agent was connected.
 */
function isMissed({ answered_at, abandoned, ended_reason, position }: Call): boolean {
  const isLost = ended_reason === "node_lost" && position?.doing !== "bridged";
  return answered_at === null || abandoned || ended_reason === "playback_failed" || isLost;
}

function recordMissed(tx: Tx, call: Call, now: Date): Promise<void> {
  const { account_id, from_number: called_number, trunk_id } = call;
  const missed = { account_id, called_number, trunk_id, subject: callName(call) };
  return recordMissedCall(tx, { ...missed, phone: call.to_phone || null }, now);
}
