// Builds a campaign's message plan from a template or an opening message.
import type {
  Media,
  TemplateCategory,
  TemplateComponent,
  TemplateDraft,
} from "../../drivers/chat/driver.ts";
import type { ButtonSlot, InteractivePlan, TemplatePlan, TextSlot } from "./message-plan.ts";
import type { InteractiveOpening } from "./opening-message.ts";
import { cutText, keysOf } from "./internal/placeholders.ts";

/** The parts of a template that messages are built from. */
export type PlannedTemplate = {
  readonly name: string;
  readonly language: string;
  readonly category: TemplateCategory;
  readonly parameter_format: TemplateDraft["parameter_format"];
  readonly components: readonly TemplateComponent[];
  readonly variable_defaults: Readonly<Record<string, string>>;
  readonly header_media: Omit<Media, "kind"> | null;
};

/**
 * Returns the plan of a template's messages. The keys of variables:
 * - `{{1}}` in the body is "1"; a named placeholder, in body or header, is its name;
 * - `{{1}}` in the header is "header_1", or "1" when the body has no `{{1}}`;
 * - a button's value is "button_<index>", counted from 0 over all buttons: the end of a URL, a code, a
 *   quick reply's payload (default: its text) or a flow's token (default: the message ID).
 * The template's defaults use the same keys.
 */
export function makeTemplatePlan(template: PlannedTemplate): TemplatePlan {
  const { name, language, category, variable_defaults: defaults } = template;
  const named = template.parameter_format === "NAMED";
  const header = componentOf(template.components, "HEADER");
  const bodyKeys = bodyKeysOf(template.components, named);
  const slot = (keys: readonly string[]): TextSlot => ({
    keys,
    name: named ? keys[0]! : null,
    default: keys.map((key) => valueIn(defaults, key)).find((value) => value !== null) ?? null,
  });
  const headerKey = header?.["format"] === "TEXT" ? keysOf(textOf(header))[0] : undefined;
  return {
    kind: "template",
    name,
    language,
    category,
    header_text:
      headerKey === undefined ? null : slot(headerKeys(headerKey, named, bodyKeys.includes("1"))),
    header_media: mediaOf(header, template.header_media),
    body: bodyKeys.map((key) => slot([key])),
    buttons: buttonSlots(componentOf(template.components, "BUTTONS"), defaults),
  };
}

/** Returns the plan of a flow's opening message. A button without an ID is identified by its title. */
export function makeOpeningPlan(opening: InteractiveOpening): InteractivePlan {
  return {
    kind: "interactive",
    header: opening.header === undefined ? null : cutText(opening.header),
    body: cutText(opening.body),
    footer: opening.footer === undefined ? null : cutText(opening.footer),
    action: actionOf(opening),
    defaults: opening.variable_defaults ?? {},
  };
}

const media_kinds = ["image", "video", "document"] as const;

/** Returns the kind of media in a template's header, or null. */
export function headerMediaKind(components: readonly TemplateComponent[]): Media["kind"] | null {
  const format = componentOf(components, "HEADER")?.["format"];
  return media_kinds.find((kind) => kind.toUpperCase() === format) ?? null;
}

function componentOf(components: readonly TemplateComponent[], type: TemplateComponent["type"]) {
  return components.find((component) => component.type === type);
}

/** Returns the text of a component; "" without one. */
export function textOf(component: TemplateComponent | undefined): string {
  const text = component?.["text"];
  return typeof text === "string" ? text : "";
}

/** Numbered keys are sent in the order of their numbers, not of their positions in the text. */
function bodyKeysOf(components: readonly TemplateComponent[], named: boolean): string[] {
  const keys = keysOf(textOf(componentOf(components, "BODY")));
  return named ? keys : keys.toSorted((a, b) => Number(a) - Number(b));
}

function headerKeys(key: string, named: boolean, bodyHasIt: boolean): string[] {
  if (named) return [key];
  return bodyHasIt ? [`header_${key}`] : [`header_${key}`, key];
}

function mediaOf(
  header: TemplateComponent | undefined,
  media: Omit<Media, "kind"> | null,
): Media | null {
  const kind = header && headerMediaKind([header]);
  return kind && media ? { ...media, kind } : null;
}

function buttonSlots(
  component: TemplateComponent | undefined,
  defaults: Readonly<Record<string, string>>,
): ButtonSlot[] {
  const buttons = (component?.["buttons"] ?? []) as readonly Record<string, unknown>[];
  return buttons.flatMap((button, index) => {
    const key = `button_${index}`;
    const slot = (type: ButtonSlot["type"], otherwise: string | null = null) => [
      { type, index, key, default: valueIn(defaults, key) ?? otherwise },
    ];
    switch (button["type"]) {
      case "URL":
        return keysOf(String(button["url"])).length > 0 ? slot("url") : [];
      case "QUICK_REPLY":
        return slot("quick_reply", String(button["text"]));
      case "COPY_CODE":
        return slot("copy_code");
      case "FLOW":
        return slot("flow");
      default:
        return [];
    }
  });
}

/** A blank default counts as missing. */
function valueIn(defaults: Readonly<Record<string, string>>, key: string): string | null {
  const value: unknown = defaults[key];
  return typeof value === "string" && value.trim() !== "" ? value : null;
}

function actionOf({ buttons, list, flow }: InteractiveOpening): InteractivePlan["action"] {
  if (buttons) {
    return {
      type: "buttons",
      buttons: buttons.map(({ id, title }) => ({ id: id ?? title, title })),
    };
  }
  if (list) return { type: "list", ...list };
  if (flow) return { type: "flow", ...flow, flow_token: "" };
  return { type: "none" };
}
