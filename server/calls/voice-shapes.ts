// What voice campaigns hand to calls: life/ is private to this folder.
export type { Menu, MenuNode, Prompt, TransferTarget } from "./state-machine/menu.ts";
export { call_types, machine_policies } from "./state-machine/voice-plan.ts";
export type {
  CallType,
  MachinePolicy,
  VoiceContent,
  VoicePlan,
} from "./state-machine/voice-plan.ts";
