// The plan of voice calls: copied at a campaign's launch, or when an incoming call arrives.
import type { AiAgentPlan } from "../../drivers/ai-agent/driver.ts";
import type { Menu, Prompt, TransferTarget } from "./menu.ts";

export const call_types = ["obd_voice_call", "obd_smartvoice", "obd_ivr", "ai_bot"] as const;
export type CallType = (typeof call_types)[number];

export const machine_policies = ["off", "play", "hang_up", "retry"] as const;
/**
 * The policy when an answering machine answers. `off` disables AMD; `retry` hangs up and retries, as after no
 * answer.
 */
export type MachinePolicy = (typeof machine_policies)[number];

/** By call type: an audio; a script, synthesized for each recipient in advance; a menu; an AI agent. */
export type VoiceContent =
  | { readonly call_type: "obd_voice_call"; readonly prompt: Prompt }
  | { readonly call_type: "obd_smartvoice"; readonly script: string; readonly language: string }
  | { readonly call_type: "obd_ivr"; readonly menu: Menu }
  | {
      readonly call_type: "ai_bot";
      readonly agent: AiAgentPlan;
      readonly transfer_to: TransferTarget | null;
    };

/** Stored with the campaign (voice_campaigns.plan). */
export type VoicePlan = {
  readonly content: VoiceContent;
  readonly opt_out_key: string | null;
  readonly answering_machine: MachinePolicy;
};

/** The plan of a voice call, with its recipient; an incoming call has no recipient. */
export type VoiceCallPlan = VoicePlan & {
  /** Null for an inbound call. */
  readonly recipient_id: number | null;
  readonly variables: Readonly<Record<string, string>>;
  /** The synthesized script of obd_smartvoice. */
  readonly audio: { readonly name: string; readonly duration_ms: number } | null;
  /** The most attempts, callbacks not counted. */
  readonly attempts_max: number;
  readonly callbacks: number;
  readonly retry_after_minutes: number;
  readonly crm_workspace_id: number | null;
};
