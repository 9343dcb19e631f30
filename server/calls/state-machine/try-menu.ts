// Walks a menu without a phone: the transitions are those of a voice call, so that a trial and a call agree.
import { blank_call } from "./internal/blank-call.ts";
import { messageName, playbackName, type Call, type Line } from "./call.ts";
import type { CallEvent } from "./events-and-commands.ts";
import { addLeg } from "./legs.ts";
import type { Menu, NodeName, Prompt } from "./menu.ts";
import { positionOf } from "./play-to-caller.ts";
import { transition } from "./transition.ts";
import type { Activity } from "./transitions/voice-position.ts";

/** One step of the path, as in a call record's menu_path; null: the node was reached. */
export type TrialStep = { readonly node: NodeName; readonly key: string | null };

/** A caller at some place of a menu. */
export type MenuTrial = { readonly call: Call; readonly path: readonly TrialStep[] };

/** What the caller notices. */
export type TrialView = {
  readonly node: NodeName | null;
  readonly doing: Activity | "ended";
  /** What is played now, in order. */
  readonly prompts: readonly Prompt[];
  /** Digits entered so far. */
  readonly digits: string;
  /** Why the call ended; null while it lasts. */
  readonly ended_reason: string | null;
  readonly collected: Readonly<Record<string, string>>;
  readonly lead_fields: Readonly<Record<string, string>>;
};

const line: Line = {
  customer: { kind: "trunk", endpoint: "trial", number: blank_call.to_phone },
  caller_id: "",
};
const leg = 1;

/** Begins at the menu's first node, with the recipient's variables. `at` is a time of any clock. */
export function beginTrial(
  menu: Menu,
  variables: Readonly<Record<string, string>>,
  at: Date,
): MenuTrial {
  const call: Call = {
    ...blank_call,
    stage: "customer",
    status: "ringing",
    initiated_at: at,
    voice: {
      content: { call_type: "obd_ivr", menu },
      opt_out_key: null,
      answering_machine: "off",
      recipient_id: 1,
      variables,
      audio: null,
      attempts_max: 1,
      callbacks: 0,
      retry_after_minutes: 5,
      crm_workspace_id: null,
    },
  };
  const dialed = addLeg(call, { role: "customer", number: call.to_phone, on_trunk: true }, at);
  return take({ call: dialed, path: [] }, { type: "answered", leg, at });
}

/** The caller presses a key. A key that means nothing here changes nothing. */
export function pressKey(trial: MenuTrial, digit: string, at: Date): MenuTrial {
  return take(trial, { type: "digit", leg, digit, at });
}

/**
 * What is under way ends by itself: a prompt is played to its end, the time for a key is over, a message is recorded,
 * or no agent is found.
 */
export function passTime(trial: MenuTrial, at: Date): MenuTrial {
  const { call } = trial;
  const { doing, visit, prompts } = positionOf(call);
  if (prompts.length > 0)
    return take(trial, {
      type: "played",
      leg,
      playback: playbackName(call, visit),
      ok: true,
      at,
    });
  if (doing === "recording")
    return take(trial, { type: "message", recording: messageName(call, visit), ok: true, at });
  if (doing === "transferring") return take(trial, { type: "agent_found", to: null, at });
  return take(trial, { type: "timeout", visit, at });
}

/** Returns what the caller notices now. */
export function viewOf({ call }: MenuTrial): TrialView {
  const { node, doing, prompts, digits } = positionOf(call);
  const { collected, lead_fields, ended_reason, stage } = call;
  const is_over = stage === "ending" || stage === "ended";
  return {
    node,
    doing: is_over ? "ended" : doing,
    prompts: is_over ? [] : prompts,
    digits,
    ended_reason: is_over ? ended_reason : null,
    collected,
    lead_fields,
  };
}

function take({ call, path }: MenuTrial, event: CallEvent): MenuTrial {
  const next = transition(call, line, event);
  if (!next) return { call, path };
  return { call: next.call, path: [...path, ...(next.notes?.menu ?? [])] };
}
