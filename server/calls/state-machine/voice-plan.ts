// What is done on a campaign's calls, as it was at the launch.
import type { AgentPlan } from "../../drivers/ai-agent/driver.ts";
import type { Menu, Prompt, TransferTarget } from "./menu.ts";

export const call_types = ["obd_voice_call", "obd_smartvoice", "obd_ivr", "ai_bot"] as const;
export type CallType = (typeof call_types)[number];

export const machine_policies = ["off", "play", "hang_up", "retry"] as const;
/**
 * What is done when a machine answers. `off`: nobody listens for it. `retry` hangs up and tries again, as
 * with nobody there.
 */
export type MachinePolicy = (typeof machine_policies)[number];

/** By its call type: a clip; a script, spoken to each recipient beforehand; a menu; an agent. */
export type VoiceContent =
  | { readonly call_type: "obd_voice_call"; readonly prompt: Prompt }
  | { readonly call_type: "obd_smartvoice"; readonly script: string; readonly language: string }
  | { readonly call_type: "obd_ivr"; readonly menu: Menu }
  | {
      readonly call_type: "ai_bot";
      readonly agent: AgentPlan;
      readonly transfer_to: TransferTarget | null;
    };

/** Stored with the campaign (voice_campaigns.plan). */
export type VoicePlan = {
  readonly content: VoiceContent;
  readonly opt_out_key: string | null;
  readonly answering_machine: MachinePolicy;
};

/** The campaign's part of a call, and its recipient. */
export type VoiceCall = VoicePlan & {
  readonly recipient_id: number;
  readonly variables: Readonly<Record<string, string>>;
  /** Of obd_smartvoice. */
  readonly audio: { readonly name: string; readonly duration_ms: number } | null;
  /** Attempts that may be made in all, callbacks beside. */
  readonly attempts_max: number;
  readonly callbacks: number;
  readonly retry_after_minutes: number;
  readonly crm_workspace_id: number | null;
};
