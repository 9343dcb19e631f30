import { headerMediaKind, makeTemplatePlan, type PlannedTemplate } from "./build-message-plan.ts";
import type { TemplatePlan, TextSlot } from "./message-plan.ts";
import { unsupportedPart } from "./unsupported-part.ts";

/**
 * Returns why messages of a campaign's plan no longer fit its template, or null if they do: the provider
 * rejects a message whose values do not match the template's placeholders, header or buttons. Changes of
 * fixed text, defaults and the header's file are no mismatch.
 */
export function planMismatch(plan: TemplatePlan, template: PlannedTemplate): string | null {
  const unsupported = unsupportedPart(template.components);
  if (unsupported !== null)
    return `the template now has ${unsupported}, which campaigns cannot fill`;
  const now = takenBy(makeTemplatePlan(template), headerMediaKind(template.components));
  const before = takenBy(plan, plan.header_media?.kind ?? null);
  const part = (["header", "body", "buttons"] as const).find((one) => now[one] !== before[one]);
  if (!part) return null;
  const values = `from ${before[part]} to ${now[part]}`;
  return `the values of the template's ${part} changed ${values}`;
}

/** Describes the values that a message must have, in the same words for equal values. */
function takenBy({ header_text, body, buttons }: TemplatePlan, media: string | null) {
  const list = (values: readonly string[]) => (values.length > 0 ? values.join(", ") : "none");
  // Named values may come in any order; numbered ones are in order already.
  const texts = body.map(describeSlot).toSorted();
  return {
    header: media ?? (header_text === null ? "none" : describeSlot(header_text)),
    body: list(texts),
    buttons: list(buttons.map(({ type, index }) => `${type} at ${index}`)),
  };
}

/** A numbered value has no name of its own: a header's `{{1}}` has two possible keys. */
function describeSlot({ name, keys }: TextSlot): string {
  return `{{${name ?? keys.at(-1)!.replace("header_", "")}}}`;
}
