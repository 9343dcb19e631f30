// What a campaign sends, as it was when the campaign was made: everything but the recipients' own values.
import type {
  ButtonValue,
  InteractiveMessage,
  Media,
  TemplateCategory,
} from "../../drivers/chat/driver.ts";

/** A text cut at its `{{placeholders}}`: even entries are fixed, odd ones are keys of variables. */
export type TextParts = readonly string[];

/** A placeholder of a template, and what fills it. */
export type TextSlot = {
  /** Keys of a recipient's variables: the first that has a value is taken. */
  readonly keys: readonly string[];
  /** Of a named parameter; null where the order counts. */
  readonly name: string | null;
  /** The template's own value; null: the recipient must bring one. */
  readonly default: string | null;
};

/** A button that takes a value: `button_<index>` of the variables, else the default. */
export type ButtonSlot = {
  readonly type: ButtonValue["type"];
  readonly index: number;
  readonly key: string;
  /** Null: the recipient must bring one; a flow's token is the message's id then. */
  readonly default: string | null;
};

/** A template with its placeholders located, and what fills those that a recipient brings no value for. */
export type TemplatePlan = {
  readonly kind: "template";
  readonly name: string;
  readonly language: string;
  readonly category: TemplateCategory;
  readonly header_text: TextSlot | null;
  readonly header_media: Media | null;
  /** In the order in which the provider takes them. */
  readonly body: readonly TextSlot[];
  readonly buttons: readonly ButtonSlot[];
};

/** A free message; the keys in its texts are filled in. */
export type InteractivePlan = {
  readonly kind: "interactive";
  readonly header: TextParts | null;
  readonly body: TextParts;
  readonly footer: TextParts | null;
  /** A flow's token is the message's id, whatever stands here. */
  readonly action: InteractiveMessage["action"];
  readonly defaults: Readonly<Record<string, string>>;
};

/** Kept as JSON with the campaign. */
export type MessagePlan = TemplatePlan | InteractivePlan;
