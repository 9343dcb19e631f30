// Creates calls in memory, as a node leader holds them.
import { blank_call } from "../../server/calls/state-machine/internal/blank-call.ts";
import type { Call, Leg } from "../../server/calls/state-machine/call.ts";
import type { VoiceCallPlan } from "../../server/calls/state-machine/voice-plan.ts";
import { readCall } from "../../server/calls/state-machine/read-call.ts";
import type { App } from "../../server/engine/app.ts";

const noon = blank_call.due_at;

/** Returns a claimed first attempt without events: extension 101 calls a customer. */
export function callValue(
  more: Partial<Omit<Call, "click_to_call" | "settings">> & {
    click_to_call?: Partial<Call["click_to_call"]>;
    settings?: Partial<Call["settings"]>;
  } = {},
): Call {
  const { click_to_call, settings, ...rest } = more;
  return {
    ...blank_call,
    ...rest,
    click_to_call: { ...blank_call.click_to_call, ...click_to_call },
    settings: { ...blank_call.settings, ...settings },
  };
}

/** Returns the content of a voice call, for its first recipient. */
export function voiceValue(
  more: Pick<VoiceCallPlan, "content"> & Partial<VoiceCallPlan>,
): VoiceCallPlan {
  return {
    opt_out_key: null,
    answering_machine: "off",
    recipient_id: 1,
    variables: {},
    audio: null,
    attempts_max: 1,
    callbacks: 0,
    retry_after_minutes: 5,
    crm_workspace_id: null,
    ...more,
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
