// The message of a campaign, copied at its creation, without the recipients' values.
import type {
  ButtonValue,
  InteractiveMessage,
  Media,
  TemplateCategory,
} from "../../drivers/chat/driver.ts";

/** A text split at its `{{placeholders}}`: even entries are fixed text, odd entries are keys. */
export type TextParts = readonly string[];

/** A placeholder of a template and the sources of its value. */
export type TextSlot = {
  /** Keys of a recipient's variables; the first one with a value is used. */
  readonly keys: readonly string[];
  /** The name of a named parameter; null for a positional one. */
  readonly name: string | null;
  /** The template's default; when null, the recipient must have a value. */
  readonly default: string | null;
};

/** A button with a value: `button_<index>` of the variables, or the default. */
export type ButtonSlot = {
  readonly type: ButtonValue["type"];
  readonly index: number;
  readonly key: string;
  /** When null, the recipient must have a value, except that a flow's token is the message ID. */
  readonly default: string | null;
};

/** A template with its parsed placeholders and their defaults. */
export type TemplatePlan = {
  readonly kind: "template";
  readonly name: string;
  readonly language: string;
  readonly category: TemplateCategory;
  readonly header_text: TextSlot | null;
  readonly header_media: Media | null;
  /** In the order that the provider expects. */
  readonly body: readonly TextSlot[];
  readonly buttons: readonly ButtonSlot[];
};

/** An interactive message; the keys in its texts are replaced by variables. */
export type InteractivePlan = {
  readonly kind: "interactive";
  readonly header: TextParts | null;
  readonly body: TextParts;
  readonly footer: TextParts | null;
  /** The message ID always overrides a flow's token. */
  readonly action: InteractiveMessage["action"];
  readonly defaults: Readonly<Record<string, string>>;
};

/** Stored as JSON with the campaign. */
export type MessagePlan = TemplatePlan | InteractivePlan;

/** Returns the category of the plan's template; null if it has none. */
export function categoryOf(plan: MessagePlan): TemplateCategory | null {
  return plan.kind === "template" ? plan.category : null;
}
