// What people read of a message of a template. Runs in the console too, where it shows a message before it is sent.
import type { TemplateMessage } from "../../drivers/chat/driver.ts";
import { makeTemplatePlan, textOf, type PlannedTemplate } from "./build-message-plan.ts";
import { cutText } from "./internal/placeholders.ts";

export type MessageText = {
  /** Null without a header of text. */
  readonly header: string | null;
  readonly body: string;
  readonly footer: string | null;
};

/** Returns the template's texts with the message's values, as WhatsApp shows them. */
export function messageText(
  template: PlannedTemplate,
  { header, body }: Pick<TemplateMessage, "header" | "body">,
): MessageText {
  const of = (type: string) =>
    textOf(template.components.find((component) => component.type === type));
  // The plan has the body's placeholders in the order of the message's values.
  const keys = makeTemplatePlan(template).body.map((slot) => slot.keys[0]!);
  const values = new Map(keys.map((key, i) => [key, body[i]!.text]));
  const title = header && "text" in header ? header.text.text : null;
  return {
    header: of("HEADER") === "" ? null : fill(of("HEADER"), () => title),
    body: fill(of("BODY"), (key) => values.get(key) ?? null),
    footer: of("FOOTER") === "" ? null : of("FOOTER"),
  };
}

/** Replaces the placeholders that have a value. */
function fill(text: string, valueOf: (key: string) => string | null): string {
  return cutText(text)
    .map((part, i) => (i % 2 === 0 ? part : (valueOf(part) ?? `{{${part}}}`)))
    .join("");
}
