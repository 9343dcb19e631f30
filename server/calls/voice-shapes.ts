// What voice campaigns hand to calls: life/ is private to this folder.
export type { Menu, MenuNode, Prompt, TransferTarget } from "./life/menu.ts";
export { call_types, machine_policies } from "./life/voice-plan.ts";
export type { CallType, MachinePolicy, VoiceContent, VoicePlan } from "./life/voice-plan.ts";
