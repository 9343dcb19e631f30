// What a campaign sends, as it was when the campaign was made: everything but the recipients' own values.
import type {
  ButtonValue,
  InteractiveMessage,
  Media,
  TemplateCategory,
} from "../drivers/chat/driver.ts";

/** A text with `{{placeholders}}` cut into what is fixed and what is filled in: even entries are fixed. */
export type Placeholders = readonly string[];

/** A template with its placeholders located, and what fills those that a recipient brings no value for. */
export type TemplatePlan = {
  readonly kind: "template";
  readonly name: string;
  readonly language: string;
  readonly category: TemplateCategory;
  readonly named: boolean;
  /** Keys of the header's text (at most one), in order. */
  readonly header_keys: readonly string[];
  readonly header_media: Media | null;
  readonly body_keys: readonly string[];
  /** Buttons that take a value: the key to look up, and how it is sent. */
  readonly buttons: readonly {
    readonly type: ButtonValue["type"];
    readonly index: number;
    readonly key: string;
  }[];
  readonly defaults: Readonly<Record<string, string>>;
};

/** A free message; `{{key}}` in its texts is filled in. */
export type InteractivePlan = {
  readonly kind: "interactive";
  readonly message: InteractiveMessage;
  readonly defaults: Readonly<Record<string, string>>;
};

export type MessagePlan = TemplatePlan | InteractivePlan;
