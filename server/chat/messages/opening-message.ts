// The opening message of a chat flow or automation flow. Campaigns use nothing else of a flow.
import Type, { type Static } from "typebox";
import type { FieldError } from "../../lib/errors.ts";
import { closed, id, mapOf, optional } from "../../lib/schemas.ts";
import { keysOf } from "./internal/placeholders.ts";

/** An interactive message; `{{key}}` in header, body and footer is replaced by a recipient's variable. */
export type InteractiveOpening = {
  readonly type: "interactive";
  readonly header?: string;
  readonly body: string;
  readonly footer?: string;
  readonly buttons?: readonly { readonly id?: string; readonly title: string }[];
  readonly list?: {
    readonly button: string;
    readonly sections: readonly {
      readonly title: string;
      readonly rows: readonly {
        readonly id: string;
        readonly title: string;
        readonly description?: string;
      }[];
    }[];
  };
  readonly flow?: {
    readonly flow_id: string;
    readonly cta: string;
    readonly screen?: string;
    readonly data?: Readonly<Record<string, unknown>>;
  };
  readonly variable_defaults?: Readonly<Record<string, string>>;
};

/** A template of the account, with the flow's own defaults. */
export type TemplateOpening = { readonly type: "template"; readonly template_id: number };

/** Stored as JSON with a flow. */
export type OpeningMessage = InteractiveOpening | TemplateOpening;

const text = (maxLength: number, description: string) =>
  Type.String({
    maxLength,
    pattern: "\\S",
    description,
    "x-reason": `must be text of at most ${maxLength} characters, not blank`,
  });

const Button = closed({
  id: optional(text(256, "What an answer carries; the title unless said")),
  title: text(20, "What the button says"),
});

const ListRow = closed({
  id: text(200, "What an answer carries"),
  title: text(24, "What the row says"),
  description: optional(text(72, "A second line")),
});

const List = closed(
  {
    button: text(20, "What opens the list"),
    sections: Type.Array(
      closed({
        title: text(24, "Above its rows"),
        rows: Type.Array(ListRow, { minItems: 1, maxItems: 10 }),
      }),
      { minItems: 1, maxItems: 10, description: "At most 10 rows in all" },
    ),
  },
  { title: "InteractiveList", description: "A list to choose from" },
);

const MetaFlow = closed(
  {
    flow_id: text(64, "The provider's id of the flow"),
    cta: text(20, "What the button says"),
    screen: optional(
      text(
        200,
        "The first screen; without it, the flow's endpoint is asked, which the flow must have",
      ),
    ),
    data: optional(
      mapOf(Type.Unknown(), { description: "The input of the first screen; requires `screen`" }),
    ),
  },
  { title: "FlowLink", description: "A form of the provider's" },
);

/** Defaults of placeholders: `{key: text}`. */
export const VariableDefaults = mapOf(text(1024, "A value"), {
  maxProperties: 100,
  description: "What placeholders become for recipients that bring no value of their own",
});

/** An opening in a request; validateOpening checks the rules that a schema cannot express. */
export const OpeningInput = closed(
  {
    type: Type.Enum(["interactive", "template"] as const, {
      type: "string",
      description:
        "template: an approved template, which reaches everybody; interactive: a message of its own, which reaches those who wrote within 24 hours",
    }),
    template_id: optional(id("Of a template opening")),
    header: optional(text(60, "Of an interactive opening")),
    body: optional(text(1024, "Of an interactive opening; {{1}} or {{name}} are filled in")),
    footer: optional(text(60, "Of an interactive opening")),
    buttons: optional(Type.Array(Button, { minItems: 1, maxItems: 3 })),
    list: optional(List),
    flow: optional(MetaFlow),
    variable_defaults: optional(VariableDefaults),
  },
  {
    title: "OpeningMessage",
    description: "The first message: at most one of buttons, list and flow",
  },
);
export type OpeningInput = Static<typeof OpeningInput>;

/** An opening in a response. */
export const OpeningResponse = Type.Unsafe<OpeningMessage>({
  type: "object",
  additionalProperties: true,
  description: "As it was given",
});

const interactive_only = [
  "header",
  "body",
  "footer",
  "buttons",
  "list",
  "flow",
  "variable_defaults",
] as const;

/** Checks the rules that a schema cannot express; the opening may have any shape. `at` is its path. */
export function validateOpening(opening: unknown, at: string): FieldError[] {
  if (typeof opening !== "object" || opening === null) return [];
  const fields = opening as Record<string, unknown>;
  const isGiven = (name: string) => fields[name] !== undefined && fields[name] !== null;
  const violation = (name: string, reason: string): FieldError => ({
    field: `${at}.${name}`,
    reason,
  });
  if (fields["type"] === "template") {
    const alien = interactive_only
      .filter(isGiven)
      .map((name) => violation(name, "does not belong to a template opening"));
    return isGiven("template_id") ? alien : [violation("template_id", "is required"), ...alien];
  }
  if (fields["type"] !== "interactive") return [];
  const violations: FieldError[] = [];
  if (!isGiven("body")) violations.push(violation("body", "is required"));
  if (isGiven("template_id")) {
    violations.push(violation("template_id", "does not belong to an interactive opening"));
  }
  const [, ...more] = (["buttons", "list", "flow"] as const).filter(isGiven);
  violations.push(
    ...more.map((name) => violation(name, "only one of buttons, list and flow may be given")),
  );
  return [
    ...violations,
    ...validateButtons(fields["buttons"], at),
    ...validateList(fields["list"], at),
    ...validateMetaFlow(fields["flow"], at),
    ...validateDefaults(fields, at),
  ];
}

/** Returns the opening to store; null fields count as omitted. */
export function toOpeningMessage(input: OpeningInput): OpeningMessage {
  if (input.type === "template") return { type: "template", template_id: input.template_id! };
  return withoutNulls({ ...input, template_id: null }) as InteractiveOpening;
}

function validateDefaults(fields: Record<string, unknown>, at: string): FieldError[] {
  const { header, body, footer, variable_defaults } = fields;
  if (typeof variable_defaults !== "object" || variable_defaults === null) return [];
  const texts = [header, body, footer].filter((one) => typeof one === "string");
  const keys = new Set(texts.flatMap(keysOf));
  return Object.keys(variable_defaults)
    .filter((key) => !keys.has(key))
    .map((key) => ({
      field: `${at}.variable_defaults.${key}`,
      reason: `no text has a placeholder {{${key}}}`,
    }));
}

function validateButtons(buttons: unknown, at: string): FieldError[] {
  const seen = new Set<unknown>();
  return listOf(buttons).flatMap((button, i) => {
    const key = button["id"] ?? button["title"];
    const twice = typeof key === "string" && seen.has(key);
    seen.add(key);
    return twice ? [{ field: `${at}.buttons.${i}`, reason: "must differ from the others" }] : [];
  });
}

const rows_max = 10;

function validateList(list: unknown, at: string): FieldError[] {
  if (typeof list !== "object" || list === null) return [];
  const sections = listOf((list as Record<string, unknown>)["sections"]);
  const rows = sections.flatMap((section, s) =>
    listOf(section["rows"]).map((row, r) => ({ id: row["id"], path: `sections.${s}.rows.${r}` })),
  );
  const seen = new Set<unknown>();
  const twice = rows.filter(({ id: key }) => seen.size === seen.add(key).size);
  const violations = twice.map(({ path }) => ({
    field: `${at}.list.${path}.id`,
    reason: "must differ from the others",
  }));
  if (rows.length <= rows_max) return violations;
  return [
    { field: `${at}.list.sections`, reason: `must have at most ${rows_max} rows` },
    ...violations,
  ];
}

function validateMetaFlow(flow: unknown, at: string): FieldError[] {
  if (typeof flow !== "object" || flow === null) return [];
  const { screen, data } = flow as Record<string, unknown>;
  if ((screen ?? null) !== null || (data ?? null) === null) return [];
  return [
    {
      field: `${at}.flow.data`,
      reason: "requires `screen`: without it, the flow's endpoint returns the first screen's data",
    },
  ];
}

function listOf(value: unknown): Record<string, unknown>[] {
  if (!Array.isArray(value)) return [];
  const entries: readonly unknown[] = value;
  return entries.filter(
    (entry): entry is Record<string, unknown> => typeof entry === "object" && entry !== null,
  );
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== "object" || value === null) return value;
  const kept = Object.entries(value).filter(([, field]) => field !== null);
  // A flow's data is passed through unchanged.
  const clean = (key: string, field: unknown) => (key === "data" ? field : withoutNulls(field));
  return Object.fromEntries(kept.map(([key, field]) => [key, clean(key, field)]));
}
