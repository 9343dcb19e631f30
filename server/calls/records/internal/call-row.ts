// Converts a stored call to a call record.
import type { CallDetail, CallLegRecord, CallRecord } from "../call-record-schema.ts";
import { recordingPath, type CallStatus } from "../../state-machine/call.ts";
import type { CallType } from "../../state-machine/voice-plan.ts";

/** A call as the statement reads it, with its request and its legs. */
export type CallRow = {
  readonly id: number;
  readonly direction: CallRecord["direction"];
  readonly campaign_id: number;
  /** This and the next two: null for a click-to-call. */
  readonly campaign_name: string | null;
  readonly call_type: CallType | null;
  readonly recipient_id: number | null;
  readonly collected: CallRecord["collected"];
  readonly callback_at: Date | null;
  readonly callback_outcome: CallRecord["callback_outcome"];
  readonly opted_out: boolean;
  readonly lead_id: number | null;
  /** Times inside JSON are texts, here and below. */
  readonly menu_path: CallRecord["menu_path"];
  readonly transcript: NonNullable<CallRecord["transcript"]>;
  readonly messages: readonly Pick<CallRecord["messages"][number], "node" | "state">[];
  readonly from_number: string;
  readonly to_number: string;
  readonly cli_number: string | null;
  readonly status: CallStatus;
  readonly disposition: string | null;
  readonly ended_reason: string | null;
  readonly ended_by: CallRecord["ended_by"];
  readonly answered_by: CallRecord["answered_by"];
  readonly attempt: number;
  readonly queued_at: Date;
  readonly initiated_at: Date | null;
  readonly ringing_at: Date | null;
  readonly answered_at: Date | null;
  readonly ended_at: Date | null;
  readonly ring_seconds: number | null;
  readonly talk_seconds: number | null;
  readonly billed_seconds: number | null;
  readonly hangup_cause: number | null;
  readonly sip_status: number | null;
  readonly dtmf: string;
  readonly recording_state: string;
  readonly cost: number;
  readonly retried_leg: CallDetail["retried_leg"];
  readonly retry_at: Date | null;
  readonly reference: string | null;
  readonly source: string | null;
  readonly remark: string | null;
  /** Null for a voice campaign, like all fields of a click-to-call request. */
  readonly policy_applied: CallRecord["policy_applied"];
  readonly from_group_id: number | null;
  readonly to_group_id: number | null;
  readonly agent_not_pick_group_id: number | null;
  readonly agent_not_pick_policy: string | null;
  readonly max_retry: number;
  readonly retry_after_minutes: number;
  readonly customer_retry_count: number;
  readonly agent_retry_count: number;
  readonly extension_for_transfer: string | null;
  readonly extension_for_dis: string | null;
  readonly scheduled_at: Date | null;
  readonly enable_chat: boolean;
  readonly auto_block_minutes: number | null;
  readonly callback_method: string | null;
  readonly legs: readonly CallLegRecord[];
};

/** Returns the call record of a stored call. */
export function toCallRecord(row: CallRow): CallRecord {
  return {
    call_id: row.id,
    campaign_id: row.campaign_id,
    campaign_name: row.campaign_name,
    recipient_id: row.recipient_id,
    type: typeOf(row),
    direction: row.direction,
    reference: row.reference,
    source: row.source,
    remark: row.remark,
    from_number: row.from_number,
    to_number: row.to_number,
    cli_number: row.cli_number,
    status: row.status,
    disposition: row.disposition,
    ended_reason: row.ended_reason,
    ended_by: row.ended_by,
    answered_by: row.answered_by,
    attempt: row.attempt,
    queued_at: iso(row.queued_at),
    initiated_at: isoOrNull(row.initiated_at),
    ringing_at: isoOrNull(row.ringing_at),
    answered_at: isoOrNull(row.answered_at),
    ended_at: isoOrNull(row.ended_at),
    ring_seconds: row.ring_seconds,
    talk_seconds: row.talk_seconds,
    billed_seconds: row.billed_seconds,
    hangup_cause_q850: row.hangup_cause,
    sip_status: row.sip_status,
    dtmf: row.dtmf,
    recording_url: row.recording_state === "ready" ? recordingPath(row) : null,
    transcript: row.call_type === "ai_bot" ? row.transcript.map(dated) : null,
    menu_path: row.menu_path.map(dated),
    collected: row.collected,
    messages: row.messages.map(({ node, state }, i) => ({
      node,
      recording_url: state === "ready" ? `/api/v1/calls/${row.id}/messages/${i + 1}` : null,
      state,
    })),
    callback_at: isoOrNull(row.callback_at),
    callback_outcome: row.callback_outcome,
    opted_out: row.opted_out,
    cost: row.cost,
    lead_id: row.lead_id,
    policy_applied: row.policy_applied,
    retry_at: isoOrNull(row.retry_at),
    legs: row.legs.map(legOf),
  };
}

function legOf(leg: CallLegRecord): CallLegRecord {
  return {
    ...leg,
    initiated_at: iso(leg.initiated_at),
    ringing_at: isoOrNull(leg.ringing_at),
    answered_at: isoOrNull(leg.answered_at),
    ended_at: isoOrNull(leg.ended_at),
  };
}

/** Returns the fields of the request under their API names. */
export function requestFields(
  row: CallRow,
): Omit<CallDetail, keyof CallRecord | "contact_name" | "events" | "ended_by_user"> {
  return {
    from_group_id: row.from_group_id,
    to_group_id: row.to_group_id,
    agent_not_pick_group: row.agent_not_pick_group_id,
    agent_not_pick_policy: row.agent_not_pick_policy,
    max_retry: row.max_retry,
    retry_after: row.retry_after_minutes,
    customer_retry_count: row.customer_retry_count,
    agent_retry_count: row.agent_retry_count,
    extension_for_transfer: row.extension_for_transfer,
    extension_for_dis: row.extension_for_dis,
    scheduled_at: isoOrNull(row.scheduled_at),
    enable_chat: row.enable_chat,
    auto_block_time: row.auto_block_minutes,
    callback_method: row.callback_method,
    retried_leg: row.retried_leg,
  };
}

/** Returns a stored event as the call record shows it. */
export function toCallEvent(event: {
  readonly type: string;
  readonly at: Date;
  readonly data: unknown;
}): CallDetail["events"][number] {
  return { ...(event.data as object), type: event.type, at: iso(event.at) };
}

function dated<Row extends { readonly at: string }>(row: Row): Row {
  return { ...row, at: iso(row.at) };
}

/** PostgreSQL writes times inside JSON with microseconds and an offset. */
function iso(time: Date | string): string {
  return new Date(time).toISOString();
}

function isoOrNull(time: Date | string | null): string | null {
  return time === null ? null : iso(time);
}

function typeOf({ direction, call_type }: CallRow): CallRecord["type"] {
  if (direction === "inbound") return "incoming";
  return call_type === null ? "click_to_call" : "voice_campaign";
}
