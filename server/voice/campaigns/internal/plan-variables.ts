import { placeholdersOf } from "../../../calls/state-machine/script-text.ts";
import type { VoicePlan } from "../../../calls/state-machine/voice-plan.ts";

/** A variable that a campaign's texts use. */
export type PlanVariable = {
  readonly name: string;
  /** A recipient without a value is rejected, because the synthesized script has no default for it. */
  readonly required: boolean;
};

/** Returns the distinct variables that the texts of a plan use. */
export function planVariables({ content }: VoicePlan): PlanVariable[] {
  const script = content.call_type === "obd_smartvoice" ? content.script : "";
  const required = new Set(
    placeholdersOf(script)
      .filter(({ fallback }) => fallback === null)
      .map(({ name }) => name),
  );
  const names = textsOf(content).flatMap((text) => placeholdersOf(text).map(({ name }) => name));
  return [...new Set(names)].map((name) => ({ name, required: required.has(name) }));
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}
