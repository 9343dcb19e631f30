// API schemas of message templates.
import Type, { type Static } from "typebox";
import type {
  TemplateCategory,
  TemplateComponent,
  TemplateDraft,
  TemplateStatus,
} from "../../drivers/chat/driver.ts";
import { closed, id, mapOf, nullable, optional, timestamp } from "../../lib/schemas.ts";
import { makeTemplatePlan, type PlannedTemplate } from "../messages/build-message-plan.ts";
import { VariableDefaults } from "../messages/opening-message.ts";
import { unsupportedPart } from "../messages/unsupported-part.ts";

export const template_statuses = [
  "PENDING",
  "APPROVED",
  "REJECTED",
  "PAUSED",
  "DISABLED",
] as const satisfies readonly TemplateStatus[];
export const template_categories = [
  "MARKETING",
  "UTILITY",
  "AUTHENTICATION",
] as const satisfies readonly TemplateCategory[];
const formats = [
  "POSITIONAL",
  "NAMED",
] as const satisfies readonly TemplateDraft["parameter_format"][];
const component_types = ["HEADER", "BODY", "FOOTER", "BUTTONS"] as const;
const header_formats = ["TEXT", "IMAGE", "VIDEO", "DOCUMENT"] as const;
const button_types = ["QUICK_REPLY", "URL", "PHONE_NUMBER", "COPY_CODE", "FLOW"] as const;

const named = Type.Array(closed({ param_name: Type.String(), example: Type.String() }), {
  maxItems: 100,
});
const texts = Type.Array(Type.String(), { maxItems: 100 });

const Button = closed(
  {
    type: Type.Enum(button_types, { type: "string" }),
    text: Type.Optional(Type.String({ description: "At most 25 characters; not of COPY_CODE" })),
    url: Type.Optional(Type.String({ description: "Of URL; may end with {{1}}" })),
    phone_number: Type.Optional(Type.String({ description: "Of PHONE_NUMBER" })),
    example: Type.Optional(
      Type.Unsafe<string | string[]>({
        type: ["string", "array"],
        items: { type: "string" },
        description: "Of COPY_CODE and of a URL with {{1}}",
      }),
    ),
    flow_id: Type.Optional(Type.String({ description: "Of FLOW" })),
    flow_action: Type.Optional(Type.String({ enum: ["navigate", "data_exchange"] })),
    navigate_screen: Type.Optional(Type.String()),
  },
  { title: "ChatTemplateButton" },
);

const Component = closed(
  {
    type: Type.Enum(component_types, { type: "string" }),
    format: Type.Optional(Type.Enum(header_formats, { type: "string", description: "Of HEADER" })),
    text: Type.Optional(
      Type.String({ description: "HEADER and FOOTER: at most 60 characters; BODY: 1,024" }),
    ),
    example: Type.Optional(
      closed(
        {
          header_text: Type.Optional(texts),
          header_text_named_params: Type.Optional(named),
          header_handle: Type.Optional(texts),
          body_text: Type.Optional(Type.Array(texts, { minItems: 1, maxItems: 1 })),
          body_text_named_params: Type.Optional(named),
        },
        { title: "ChatTemplateExample" },
      ),
    ),
    buttons: Type.Optional(Type.Array(Button, { minItems: 1, maxItems: 10 })),
  },
  { title: "ChatTemplateComponent" },
);

const HeaderMedia = closed(
  {
    id: optional(
      Type.String({ pattern: "\\S", maxLength: 128, description: "The provider's media id" }),
    ),
    link: optional(Type.String({ maxLength: 2_000, description: "A public https address" })),
    filename: optional(
      Type.String({ pattern: "\\S", maxLength: 240, description: "What a document is called" }),
    ),
  },
  { title: "HeaderMedia", description: "What stands in a media header: either id or link" },
);
export type HeaderMedia = Static<typeof HeaderMedia>;

/** The body of a template's creation; validateNewTemplate checks what a schema cannot express. */
export const NewTemplate = closed(
  {
    chat_number_id: id("Whose business account it is for"),
    name: Type.String({
      pattern: "^[a-z0-9_]{1,512}$",
      description: "Unique for its language in the business account",
      "x-reason": "must be 1 to 512 characters of a-z, 0-9 and _",
    }),
    language: Type.String({
      pattern: "^[a-z]{2,3}(_[A-Z]{2,3})?$",
      "x-reason": "must be a language code such as en or en_US",
    }),
    category: Type.Enum(template_categories, { type: "string" }),
    parameter_format: optional(
      Type.Enum(formats, { type: "string", description: "POSITIONAL unless said" }),
    ),
    components: Type.Array(Component, { minItems: 1, maxItems: 4 }),
    variable_defaults: optional(VariableDefaults),
    header_media: optional(HeaderMedia),
  },
  {
    title: "NewChatTemplate",
    examples: [
      {
        chat_number_id: 1,
        name: "order_shipped",
        language: "en_US",
        category: "UTILITY",
        components: [
          {
            type: "BODY",
            text: "Hello {{1}}, your order is on its way.",
            example: { body_text: [["Ada"]] },
          },
        ],
        variable_defaults: { "1": "there" },
      },
    ],
  },
);
export type NewTemplate = Static<typeof NewTemplate>;

/** The body of a template's patch. The content cannot change. */
export const TemplatePatch = closed(
  {
    variable_defaults: Type.Optional(VariableDefaults),
    header_media: optional(HeaderMedia),
  },
  {
    title: "ChatTemplatePatch",
    minProperties: 1,
    examples: [{ variable_defaults: { "1": "there" } }],
  },
);
export type TemplatePatch = Static<typeof TemplatePatch>;

export const TemplateResponse = Type.Object(
  {
    id: id("Template id"),
    driver: Type.String(),
    business_account_id: Type.String(),
    name: Type.String(),
    language: Type.String(),
    category: Type.Enum(template_categories, { type: "string" }),
    parameter_format: Type.Enum(formats, { type: "string" }),
    components: Type.Array(Type.Object({ type: Type.String() }, { additionalProperties: true })),
    variables: Type.Array(
      Type.Object({
        key: Type.String({ description: "In a recipient's variables" }),
        required: Type.Boolean({ description: "It has no default" }),
      }),
      { description: "What a message takes" },
    ),
    unsupported: nullable(
      Type.String({
        description: "The part that campaigns cannot fill, such as a LOCATION header; null: none",
      }),
    ),
    variable_defaults: mapOf(Type.String()),
    header_media: nullable(Type.Object({}, { additionalProperties: { type: "string" } })),
    status: Type.Enum(template_statuses, { type: "string" }),
    quality: Type.String({
      description: "As the provider rates it: GREEN, YELLOW, RED or UNKNOWN",
    }),
    rejection_reason: nullable(Type.String({ description: "Why it may not be sent" })),
    provider_template_id: nullable(Type.String()),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "ChatTemplate" },
);
export type TemplateResponse = Static<typeof TemplateResponse>;

/** The columns that `templateResponse` needs. */
export const template_columns = [
  "id",
  "driver",
  "business_account_id",
  "name",
  "language",
  "category",
  "parameter_format",
  "components",
  "variable_defaults",
  "header_media",
  "header_media_at",
  "status",
  "quality",
  "rejection_reason",
  "provider_template_id",
  "created_at",
  "updated_at",
] as const;

export type TemplateRow = {
  id: number;
  driver: string;
  business_account_id: string;
  name: string;
  language: string;
  category: string;
  parameter_format: string;
  components: unknown;
  variable_defaults: unknown;
  header_media: unknown;
  header_media_at: Date | null;
  status: string;
  quality: string;
  rejection_reason: string | null;
  provider_template_id: string | null;
  created_at: Date;
  updated_at: Date;
};

/** Returns the parts of a row that messages are built from. */
export function plannedTemplateOf(row: TemplateRow): PlannedTemplate {
  return {
    name: row.name,
    language: row.language,
    category: row.category as TemplateCategory,
    parameter_format: row.parameter_format as TemplateDraft["parameter_format"],
    components: row.components as TemplateComponent[],
    variable_defaults: row.variable_defaults as Record<string, string>,
    header_media: row.header_media as PlannedTemplate["header_media"],
  };
}

export function templateResponse({ header_media_at, ...row }: TemplateRow): TemplateResponse {
  const planned = plannedTemplateOf({ ...row, header_media_at });
  return {
    ...row,
    ...planned,
    components: row.components as TemplateResponse["components"],
    variable_defaults: row.variable_defaults as Record<string, string>,
    header_media: row.header_media as TemplateResponse["header_media"],
    variables: variablesOf(planned),
    unsupported: unsupportedPart(planned.components),
    status: row.status as TemplateStatus,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
  };
}

/** Returns the distinct keys that a recipient's variables may have for this template. */
export function variablesOf(template: PlannedTemplate): TemplateResponse["variables"] {
  const plan = makeTemplatePlan(template);
  const texts_taken = [...(plan.header_text ? [plan.header_text] : []), ...plan.body].map(
    (slot) => ({ key: slot.keys[0]!, required: slot.default === null }),
  );
  const buttons_taken = plan.buttons.map(({ key, type, default: otherwise }) => ({
    key,
    required: otherwise === null && type !== "flow",
  }));
  const all = [...texts_taken, ...buttons_taken];
  const seen = new Set<string>();
  return all.filter(({ key }) => seen.size < seen.add(key).size);
}
