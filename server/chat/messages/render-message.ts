// Renders one recipient's message from the campaign's plan and the recipient's variables. Runs for every
// message, so it does no I/O and no parsing.
import type { ButtonValue, OutgoingMessage, TextValue } from "../../drivers/chat/driver.ts";
import type {
  ButtonSlot,
  InteractivePlan,
  MessagePlan,
  TemplatePlan,
  TextParts,
  TextSlot,
} from "./message-plan.ts";

type Variables = Readonly<Record<string, string>> | null;

/**
 * Returns the message, or the keys that have neither a value nor a default. A blank value counts as
 * missing, because providers reject it. In a template's header and body, line breaks, tabs and runs of
 * more than four spaces become one space, because providers reject them; an interactive message keeps
 * them. Unknown keys are ignored.
 */
export function renderMessage(
  plan: MessagePlan,
  variables: Variables,
  messageId: string,
): { readonly message: OutgoingMessage } | { readonly missing: readonly string[] } {
  const missing: string[] = [];
  const message =
    plan.kind === "template"
      ? renderTemplate(plan, variables, messageId, missing)
      : renderInteractive(plan, variables, messageId, missing);
  return missing.length > 0 ? { missing: [...new Set(missing)] } : { message };
}

function renderTemplate(
  plan: TemplatePlan,
  variables: Variables,
  messageId: string,
  missing: string[],
): OutgoingMessage {
  const { header_text, header_media } = plan;
  return {
    kind: "template",
    name: plan.name,
    language: plan.language,
    header: header_text
      ? { text: textValue(header_text, variables, missing) }
      : header_media && { media: header_media },
    body: plan.body.map((slot) => textValue(slot, variables, missing)),
    buttons: plan.buttons.map((slot) => buttonValue(slot, variables, messageId, missing)),
  };
}

function renderInteractive(
  plan: InteractivePlan,
  variables: Variables,
  messageId: string,
  missing: string[],
): OutgoingMessage {
  const fill = (parts: TextParts) => fillText(parts, variables, plan.defaults, missing);
  return {
    kind: "interactive",
    header: plan.header && fill(plan.header),
    body: fill(plan.body),
    footer: plan.footer && fill(plan.footer),
    action: plan.action.type === "flow" ? { ...plan.action, flow_token: messageId } : plan.action,
  };
}

/** An inherited property, such as `constructor`, does not count as a value. */
function given(variables: Variables, key: string): string | null {
  const value: unknown = variables?.[key];
  return typeof value === "string" && /\S/.test(value) ? value : null;
}

function textValue(slot: TextSlot, variables: Variables, missing: string[]): TextValue {
  let text = slot.default;
  for (const key of slot.keys) {
    const value = given(variables, key);
    if (value !== null) {
      text = value;
      break;
    }
  }
  if (text === null) missing.push(slot.keys[0]!);
  const clean = text === null ? "" : oneLine(text);
  return slot.name === null ? { text: clean } : { name: slot.name, text: clean };
}

/** Replaces each run of white space separately, so that the cost is linear in the length. */
function oneLine(text: string): string {
  if (!/[^\S ]| {5}/.test(text)) return text;
  const shorten = (run: string) => (/^ {1,4}$/.test(run) ? run : " ");
  return text.replaceAll(/\s+/g, shorten).trim();
}

function buttonValue(
  { type, index, key, default: otherwise }: ButtonSlot,
  variables: Variables,
  messageId: string,
  missing: string[],
): ButtonValue {
  const value = given(variables, key) ?? otherwise ?? (type === "flow" ? messageId : null);
  if (value === null) missing.push(key);
  const text = value ?? "";
  switch (type) {
    case "quick_reply":
      return { type, index, payload: text };
    case "url":
      return { type, index, suffix: text };
    case "copy_code":
      return { type, index, code: text };
    case "flow":
      return { type, index, flow_token: text };
  }
}

function fillText(
  parts: TextParts,
  variables: Variables,
  defaults: Readonly<Record<string, string>>,
  missing: string[],
): string {
  let text = parts[0]!;
  for (let i = 1; i < parts.length; i += 2) {
    const key = parts[i]!;
    const value = given(variables, key) ?? given(defaults, key);
    if (value === null) missing.push(key);
    else text += value;
    text += parts[i + 1]!;
  }
  return text;
}
