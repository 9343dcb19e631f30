// Validates a new template against the provider's rules before it is submitted.
import type { FieldError } from "../../lib/errors.ts";
import { validateButtons } from "./internal/validate-template-buttons.ts";
import { validateTemplateValues } from "./internal/validate-template-values.ts";

type Fields = Readonly<Record<string, unknown>>;

/** WhatsApp's length limits. */
const header_characters_max = 60;
const body_characters_max = 1_024;
const footer_characters_max = 60;

/** The fields that a component may have besides `type`. */
const fields_of: Readonly<Record<string, readonly string[]>> = {
  HEADER: ["format", "text", "example"],
  BODY: ["text", "example"],
  FOOTER: ["text"],
  BUTTONS: ["buttons"],
};

/** Checks the rules that a schema cannot express; the body may have any shape. */
export function validateNewTemplate(body: unknown): FieldError[] {
  const fields = asFields(body);
  const components = fields?.["components"];
  if (!fields || !Array.isArray(components)) return [];
  const named = fields["parameter_format"] === "NAMED";
  const list = components.map((component) => asFields(component) ?? {});
  const violations = [
    ...validateTypes(list),
    ...list.flatMap((component, i) => validateComponent(component, `components.${i}`, named)),
  ];
  // The keys are known only when the components are valid.
  if (violations.length > 0) return violations;
  return validateTemplateValues({ ...fields, components: list.map(withButtons) });
}

/** The schema validates the shape separately, so the shape may still be invalid here. */
function withButtons(component: Fields): Fields {
  const { buttons } = component;
  return {
    ...component,
    buttons: Array.isArray(buttons) ? buttons.flatMap((one) => asFields(one) ?? []) : [],
  };
}

function validateTypes(components: readonly Fields[]): FieldError[] {
  const seen = new Set<string>();
  const twice = components.flatMap(({ type }, i) =>
    typeof type === "string" && seen.size === seen.add(type).size
      ? [{ field: `components.${i}.type`, reason: `duplicates the ${type} component` }]
      : [],
  );
  return seen.has("BODY") ? twice : [{ field: "components", reason: "must have a BODY" }, ...twice];
}

function validateComponent(component: Fields, at: string, named: boolean): FieldError[] {
  const type = String(component["type"]);
  const allowed = fields_of[type];
  if (!allowed) return [];
  const alien = Object.keys(component)
    .filter((field) => field !== "type" && !allowed.includes(field))
    .map((field) => ({ field: `${at}.${field}`, reason: `does not belong to a ${type}` }));
  switch (type) {
    case "HEADER":
      return [...alien, ...validateHeader(component, at, named)];
    case "BODY":
      return [...alien, ...validateText(component, at, body_characters_max, bodyRules(named))];
    case "FOOTER":
      return [
        ...alien,
        ...validateText(component, at, footer_characters_max, { named, most: 0, example: null }),
      ];
    default:
      return [...alien, ...validateButtons(component["buttons"], at)];
  }
}

function validateHeader(component: Fields, at: string, named: boolean): FieldError[] {
  const { format } = component;
  if (format === undefined) return [{ field: `${at}.format`, reason: "is required" }];
  if (format === "TEXT") {
    const example = named ? "header_text_named_params" : "header_text";
    return validateText(component, at, header_characters_max, { named, most: 1, example });
  }
  return component["text"] === undefined
    ? []
    : [{ field: `${at}.text`, reason: "belongs to a TEXT header only" }];
}

type TextRules = {
  readonly named: boolean;
  /** The maximum number of placeholders. */
  readonly most: number;
  /** The field that holds their examples. */
  readonly example: string | null;
};

function bodyRules(named: boolean): TextRules {
  return { named, most: 100, example: named ? "body_text_named_params" : "body_text" };
}

function validateText(component: Fields, at: string, most: number, rules: TextRules): FieldError[] {
  const { text } = component;
  const field = `${at}.text`;
  if (text === undefined) return [{ field, reason: "is required" }];
  if (typeof text !== "string") return [];
  if (text.trim() === "") return [{ field, reason: "must not be blank" }];
  if (Array.from(text).length > most)
    return [{ field, reason: `must have at most ${most} characters` }];
  const keys = readPlaceholders(text);
  if (keys === null) return [{ field, reason: "has a {{ or }} outside of a placeholder" }];
  const reason = validateKeys(keys, rules);
  if (reason !== null) return [{ field, reason }];
  return validateExample(component["example"], `${at}.example`, keys, rules);
}

/** Returns the distinct placeholders as written, or null when the braces are unbalanced. */
function readPlaceholders(text: string): string[] | null {
  const pieces = text.split(/\{\{([^{}]*)\}\}/);
  const fixed = pieces.filter((_, i) => i % 2 === 0).join(" ");
  if (fixed.includes("{{") || fixed.includes("}}")) return null;
  return [...new Set(pieces.filter((_, i) => i % 2 === 1))];
}

function validateKeys(keys: readonly string[], { named, most }: TextRules): string | null {
  if (keys.length > most) {
    return most === 0 ? "takes no placeholders" : `takes at most ${most} placeholder`;
  }
  if (named) {
    return keys.every((key) => /^[a-z_][a-z0-9_]{0,63}$/.test(key))
      ? null
      : "must name its placeholders with a-z, 0-9 and _, as {{first_name}}";
  }
  const numbers = keys.map((key) => (/^[1-9][0-9]{0,2}$/.test(key) ? Number(key) : 0));
  return numbers.toSorted((a, b) => a - b).every((number, i) => number === i + 1)
    ? null
    : "must number its placeholders {{1}}, {{2}} and so on, without a gap";
}

function validateExample(
  example: unknown,
  at: string,
  keys: readonly string[],
  { named, example: place }: TextRules,
): FieldError[] {
  if (place === null || keys.length === 0) return [];
  const field = `${at}.${place}`;
  const given = asFields(example)?.[place];
  if (given === undefined)
    return [{ field, reason: "is required: an example of each placeholder" }];
  const list: unknown = place === "body_text" && Array.isArray(given) ? given[0] : given;
  if (!Array.isArray(list)) return [];
  const names = named ? list.map((entry) => asFields(entry)?.["param_name"]) : list;
  const complete = named
    ? keys.every((key) => names.includes(key)) && names.length === keys.length
    : names.length === keys.length;
  return complete ? [] : [{ field, reason: "must have one example of each placeholder" }];
}

function asFields(value: unknown): Fields | null {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : null;
}
