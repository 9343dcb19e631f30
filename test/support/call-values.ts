// Creates calls in memory, as a node leader holds them.
import type { Call, Leg } from "../../server/calls/state-machine/call.ts";
import { readCall } from "../../server/calls/state-machine/read-call.ts";
import type { App } from "../../server/engine/app.ts";

const noon = new Date("2026-03-01T12:00:00Z");

/** Returns a claimed first attempt without events: extension 101 calls a customer. */
export function callValue(
  more: Partial<Omit<Call, "plan" | "settings">> & {
    plan?: Partial<Call["plan"]>;
    settings?: Partial<Call["settings"]>;
  } = {},
): Call {
  const { plan, settings, ...rest } = more;
  return {
    account_id: 1,
    id: 2,
    campaign_id: 3,
    attempt: 1,
    node_id: 4,
    trunk_id: 5,
    direction: "outbound",
    channel: null,
    stage: "agent",
    steps: 0,
    status: "queued",
    from_number: "101",
    to_number: "9876543210",
    to_phone: "919876543210",
    cli_number: null,
    caller_id: "9000000000",
    due_at: noon,
    queued_at: noon,
    initiated_at: null,
    ringing_at: null,
    answered_at: null,
    ended_at: null,
    disposition: null,
    ended_reason: null,
    ended_by: null,
    hangup_cause: null,
    sip_status: null,
    dtmf: "",
    answered_by: "unknown",
    ring_seconds: null,
    talk_seconds: null,
    billed_seconds: null,
    cost: 0,
    recording_state: "none",
    reserved: 2,
    retry_at: null,
    retried_leg: null,
    starred: false,
    unpaid_at: null,
    voice: null,
    position: null,
    collected: {},
    lead_fields: {},
    callback_at: null,
    opted_out: false,
    abandoned: false,
    seen_at: null,
    contact_time_zones: [],
    legs: [],
    ...rest,
    plan: {
      from_group_id: null,
      agent_not_pick_group_id: null,
      policy_applied: "hangup",
      agent_retry_count: 3,
      max_retry: 0,
      retry_after_minutes: 5,
      extension_for_transfer: null,
      extension_for_dis: null,
      enable_chat: false,
      auto_block_minutes: null,
      source: null,
      remark: null,
      reference: null,
      callback_method: null,
      ...plan,
    },
    settings: {
      country_code: "91",
      destinations_allowed: ["*"],
      destinations: null,
      time_zone: "UTC",
      night_calling: true,
      calling_from: "00:00",
      calling_to: "24:00",
      recorded: true,
      agent_ring_seconds: 30,
      customer_ring_seconds: 45,
      pulse_seconds: 60,
      talk_minutes_max: 240,
      accept_audio: null,
      busy_audio: null,
      allowed: true,
      ...settings,
    },
  };
}

/** Returns the legs of agents who did not answer, in this order. */
export function unansweredLegs(
  numbers: readonly string[],
  more: Partial<Leg> = {},
): readonly Leg[] {
  return numbers.map((number, i) => ({
    id: i + 1,
    role: "agent",
    number,
    on_trunk: false,
    state: "ended",
    status: "no-answer",
    initiated_at: noon,
    ringing_at: noon,
    answered_at: null,
    ended_at: noon,
    outcome: "no_answer",
    blocker: null,
    cause: 19,
    sip_status: 480,
    ...more,
  }));
}

/** Reads a stored call, as a leader that claims it does. */
export async function storedCall(
  app: Pick<App, "db">,
  accountId: number,
  callId: number,
): Promise<Call> {
  const { rows } = await app.db.pool.query<{ call: unknown }>("select call_state($1, $2) as call", [
    accountId,
    callId,
  ]);
  return readCall(rows[0]!.call);
}
