// A call as the state machine sees it: its rows (calls, call_legs), its plan or click-to-call terms, and its
// account's settings.
import type { AccountDestinations } from "../../accounts/accounts/call-destinations.ts";
import type { AnsweredBy, DialTarget, LegOutcome } from "../../drivers/voice/driver.ts";
import type { NoPickPolicy } from "../click-to-call/click-to-call-schema.ts";
import type { CallBlocker } from "./call-blocker.ts";
import type { VoiceCallPlan } from "./voice-plan.ts";
import type { Position } from "./transitions/voice-position.ts";

/**
 * The stage of a call, which only goes forward:
 * queued → agent (being called) → customer (being called; ringback to the agent) → talking →
 * ending (outcome decided; its legs are hung up) → ended. A voice call begins at customer.
 */
export const stages = ["queued", "agent", "customer", "talking", "ending", "ended"] as const;
export type Stage = (typeof stages)[number];

/** The status in the call record. */
export const callStatuses = [
  "queued",
  "ringing",
  "in-progress",
  "completed",
  "busy",
  "failed",
  "no-answer",
  "canceled",
] as const;
export type CallStatus = (typeof callStatuses)[number];

export type LegRole = "agent" | "customer" | "transfer";

export type Leg = {
  /** 1, 2, … within its call. */
  readonly id: number;
  readonly role: LegRole;
  /** An extension, or a phone number as E.164 digits. */
  readonly number: string;
  readonly on_trunk: boolean;
  /** `accepting`: answered, but the agent has not pressed 1 yet. */
  readonly state: "dialing" | "ringing" | "accepting" | "answered" | "ended";
  readonly status: CallStatus;
  readonly initiated_at: Date;
  readonly ringing_at: Date | null;
  readonly answered_at: Date | null;
  readonly ended_at: Date | null;
  readonly outcome: LegOutcome | null;
  /** Why it was not dialed. */
  readonly blocker: CallBlocker | null;
  readonly cause: number | null;
  readonly sip_status: number | null;
};

/** The fields of a click-to-call request that the course of the call depends on. */
export type ClickToCallTerms = {
  readonly from_group_id: number | null;
  readonly agent_not_pick_group_id: number | null;
  readonly policy_applied: NoPickPolicy;
  readonly agent_retry_count: number;
  readonly max_retry: number;
  readonly retry_after_minutes: number;
  readonly extension_for_transfer: string | null;
  readonly extension_for_dis: string | null;
  readonly enable_chat: boolean;
  readonly auto_block_minutes: number | null;
  readonly source: string | null;
  readonly remark: string | null;
  readonly reference: string | null;
  /** As sent; missing unless the call is a click-to-call. */
  readonly from_number?: string;
  readonly callback_method: string | null;
};

/** The account's settings for its calls. */
export type CallSettings = AccountDestinations & {
  readonly time_zone: string;
  readonly night_calling: boolean;
  readonly calling_from: string;
  readonly calling_to: string;
  readonly recorded: boolean;
  readonly agent_ring_seconds: number;
  readonly customer_ring_seconds: number;
  readonly pulse_seconds: number;
  /** The maximum duration of a conversation. */
  readonly talk_minutes_max: number;
  /** Asks agents on phone numbers to press 1 to accept; null: they are not asked. */
  readonly accept_audio: { readonly name: string; readonly duration_ms: number } | null;
  /** Plays to callers who get no agent; null: the built-in message. */
  readonly busy_audio: { readonly name: string; readonly duration_ms: number } | null;
  /** Whether the account still has the feature. */
  readonly allowed: boolean;
};

export type Call = {
  readonly account_id: number;
  readonly id: number;
  readonly campaign_id: number;
  readonly attempt: number;
  readonly node_id: number;
  readonly trunk_id: number;
  /** Inbound: the customer called one of the account's numbers, which is `from_number`. */
  readonly direction: "outbound" | "inbound";
  /** The channel of an inbound call at the switch; null for an outbound one. */
  readonly channel: string | null;
  readonly stage: Stage;
  /** Counts the stored transitions; a write that does not raise it is a duplicate. */
  readonly steps: number;
  readonly status: CallStatus;
  readonly from_number: string;
  readonly to_number: string;
  /** E.164 digits. */
  readonly to_phone: string;
  readonly cli_number: string | null;
  /** The caller ID that the account may show; null: it may not show `cli_number`. Not stored. */
  readonly caller_id: string | null;
  readonly due_at: Date;
  readonly queued_at: Date;
  readonly initiated_at: Date | null;
  readonly ringing_at: Date | null;
  /** When the customer answered. */
  readonly answered_at: Date | null;
  readonly ended_at: Date | null;
  readonly disposition: string | null;
  readonly ended_reason: string | null;
  readonly ended_by: "agent" | "customer" | "system" | "api" | null;
  readonly hangup_cause: number | null;
  readonly sip_status: number | null;
  readonly dtmf: string;
  readonly answered_by: AnsweredBy;
  readonly ring_seconds: number | null;
  readonly talk_seconds: number | null;
  readonly billed_seconds: number | null;
  /** In credits: started pulses of answered legs. */
  readonly cost: number;
  readonly recording_state: "none" | "recording" | "ready" | "failed";
  readonly reserved: number;
  readonly retry_at: Date | null;
  /** The leg that a manual retry counts against; null for other calls. */
  readonly retried_leg: "agent" | "customer" | null;
  /** The agent pressed `*`, so that the next key may ask for a transfer; not stored. */
  readonly starred: boolean;
  /** When the pulse begins for which credit was refused; not stored. */
  readonly unpaid_at: Date | null;
  /** The plan of a voice call; null for a click-to-call. */
  readonly voice: VoiceCallPlan | null;
  /** The position of a voice call; null before its answer. */
  readonly position: Position | null;
  /** What the caller entered, by variable name. */
  readonly collected: Readonly<Record<string, string>>;
  /** Fields to set on the caller's lead. */
  readonly lead_fields: Readonly<Record<string, string>>;
  /** When the caller asked to be called back. */
  readonly callback_at: Date | null;
  readonly opted_out: boolean;
  /** The caller asked for an agent, and none was connected. */
  readonly abandoned: boolean;
  /** When the switch last reported that a leg rang, answered or pressed a key. */
  readonly seen_at: Date | null;
  /** The time zones of the account's contacts with the customer's phone. */
  readonly contact_time_zones: readonly string[];
  /** How many earlier attempts of a click-to-call were blocked at night, before any leg. Not stored. */
  readonly unplaced_attempts: number;
  readonly legs: readonly Leg[];
  /** Defaults in a voice call, which follows its plan instead. */
  readonly click_to_call: ClickToCallTerms;
  readonly settings: CallSettings;
};

/** A person who takes calls for the account. */
export type Agent = { readonly number: string; readonly target: DialTarget };

/** How the customer is dialed over the call's trunk. */
export type Line = { readonly customer: DialTarget; readonly caller_id: string };

/** Returns the leg's name at the switch, which is unique forever and identifies its call. */
export function legName(call: Pick<Call, "account_id" | "id">, leg: Pick<Leg, "id">): string {
  return `${callName(call)}-${leg.id}`;
}

/** Returns the name of the call's bridge and recording, and the prefix of its legs' names. */
export function callName({ account_id, id }: Pick<Call, "account_id" | "id">): string {
  return `trk-${account_id}-${id}`;
}

/** Returns the IDs in a leg's name; null if Trunkline did not create the name. */
export function readLegName(
  name: string,
): { account_id: number; call_id: number; leg_id: number } | null {
  const [, account, call, leg] = /^trk-(\d{1,15})-(\d{1,15})-(\d{1,9})$/.exec(name) ?? [];
  if (leg === undefined) return null;
  return { account_id: Number(account), call_id: Number(call), leg_id: Number(leg) };
}

/** Returns the API path of the call's recording. */
export function recordingPath({ id }: Pick<Call, "id">): string {
  return `/api/v1/calls/${id}/recording`;
}

/** Returns the name of a playback at the switch. */
export function playbackName(call: Pick<Call, "account_id" | "id">, visit: number): string {
  return `${callName(call)}-p${visit}`;
}

/** Returns the name of the playback that asks an agent to accept. */
export function acceptName(call: Pick<Call, "account_id" | "id">, leg: Pick<Leg, "id">): string {
  return `${callName(call)}-a${leg.id}`;
}

/** Returns the name of a caller's recorded message at the switch. */
export function messageName(call: Pick<Call, "account_id" | "id">, visit: number): string {
  return `${callName(call)}-m${visit}`;
}

/** Returns the call's name within a message's name; null if Trunkline did not create the name. */
export function callOfMessage(name: string): string | null {
  return /^(trk-\d{1,15}-\d{1,15})-m\d{1,9}$/.exec(name)?.[1] ?? null;
}
