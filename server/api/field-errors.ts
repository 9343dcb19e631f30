// Converts Ajv's errors to the contract's errors array: each invalid field once, with a reason that says
// what is expected.
import type { ErrorObject } from "ajv";
import { closestName } from "../lib/closest-name.ts";
import { errors_shown_max, type FieldError } from "../lib/errors.ts";

type SchemaError = Pick<ErrorObject, "keyword" | "instancePath" | "params"> & {
  parentSchema?: Record<string, unknown>;
};

/** Returns one error per invalid field, in the order found. Needs Ajv's `verbose`. */
export function fieldErrors(schemaErrors: readonly unknown[]): FieldError[] {
  const byField = new Map<string, string>();
  for (const error of schemaErrors as SchemaError[]) {
    const { field, reason } = describe(error, byField.size < errors_shown_max);
    if (!byField.has(field)) byField.set(field, reason);
  }
  return [...byField].map(([field, reason]) => ({ field, reason }));
}

/** Returns the first errors, and those of the others on fields that the first do not name. */
export function mergeErrors(
  first: readonly FieldError[],
  others: readonly FieldError[],
): FieldError[] {
  const named = new Set(first.map(({ field }) => field));
  return [...first, ...others.filter(({ field }) => !named.has(field))];
}

/** Suggests a known name only with `suggest`: for 90,000 unknown fields it would take seconds. */
function describe(error: SchemaError, suggest: boolean): FieldError {
  const at = pathOf(error.instancePath);
  const { params, parentSchema } = error;
  switch (error.keyword) {
    case "required":
      return { field: join(at, String(params["missingProperty"])), reason: "is required" };
    case "additionalProperties": {
      const name = String(params["additionalProperty"]);
      const suggestion = suggest
        ? closestName(name, Object.keys(parentSchema?.["properties"] ?? {}))
        : null;
      return {
        field: join(at, name),
        reason: suggestion ? `unknown field; did you mean ${suggestion}?` : "unknown field",
      };
    }
    default:
      return { field: at || "body", reason: reasonOf(error) };
  }
}

function expectsString(params: SchemaError["params"]): boolean {
  return [params["type"] as string | string[]].flat().includes("string");
}

function reasonOf({ keyword, params, parentSchema }: SchemaError): string {
  const own = parentSchema?.["x-reason"];
  // 9876543210 has ten digits: without quotes, only its type is wrong.
  if (typeof own === "string")
    return keyword === "type" && expectsString(params) ? `${own}, as a string` : own;
  switch (keyword) {
    case "type":
      return `must be ${[params["type"] as string | string[]]
        .flat()
        .filter((type) => type !== "null")
        .map(article)
        .join(" or ")}`;
    case "enum":
      return `must be one of ${(params["allowedValues"] as (string | null)[]).filter((value) => value !== null).join(", ")}`;
    case "const":
      return `must be ${JSON.stringify(params["allowedValue"])}`;
    case "format":
      return formats[String(params["format"])] ?? `must be a valid ${params["format"]}`;
    case "minLength":
      return params["limit"] === 1
        ? "must not be empty"
        : `must have at least ${params["limit"]} characters`;
    case "maxLength":
      return `must have at most ${params["limit"]} characters`;
    case "minimum":
      return `must be at least ${params["limit"]}`;
    case "maximum":
      return `must be at most ${params["limit"]}`;
    case "minItems":
      return `must have at least ${params["limit"]} entries`;
    case "maxItems":
      return `must have at most ${params["limit"]} entries`;
    case "uniqueItems":
      return "must not contain duplicates";
    case "minProperties":
      return "must contain at least one field";
    default:
      return "is not valid";
  }
}

const formats: Record<string, string> = {
  email: "must be a valid email address",
  "date-time": "must be an ISO 8601 time",
  int64: "must be an integer of at most 64 bits",
};

function article(type: string): string {
  return type === "object" || type === "array" || type === "integer" ? `an ${type}` : `a ${type}`;
}

function pathOf(instancePath: string): string {
  return instancePath
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"))
    .join(".");
}

function join(at: string, name: string): string {
  return at ? `${at}.${name}` : name;
}
