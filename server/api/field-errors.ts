// Turns a validator's findings into the contract's errors array: each failing field with a reason
// that a person can act on, each field once.
import type { ErrorObject } from "ajv";
import { closestName } from "../lib/closest-name.ts";
import { errors_told_max, type FieldError } from "../lib/errors.ts";

type Finding = Pick<ErrorObject, "keyword" | "instancePath" | "params"> & {
  parentSchema?: Record<string, unknown>;
};

/** One entry per failing field, in the order found. Needs ajv's `verbose`. */
export function fieldErrors(findings: readonly unknown[]): FieldError[] {
  const byField = new Map<string, string>();
  for (const finding of findings as Finding[]) {
    const { field, reason } = describe(finding, byField.size < errors_told_max);
    if (!byField.has(field)) byField.set(field, reason);
  }
  return [...byField].map(([field, reason]) => ({ field, reason }));
}

/** The first errors, and of the others those on fields that the first do not name. */
export function mergeErrors(
  first: readonly FieldError[],
  others: readonly FieldError[],
): FieldError[] {
  const named = new Set(first.map(({ field }) => field));
  return [...first, ...others.filter(({ field }) => !named.has(field))];
}

/** Looks for the name that was meant only where `suggest`: for each of 90,000 unknown fields it takes seconds. */
function describe(finding: Finding, suggest: boolean): FieldError {
  const at = pathOf(finding.instancePath);
  const { params, parentSchema } = finding;
  switch (finding.keyword) {
    case "required":
      return { field: join(at, String(params["missingProperty"])), reason: "is required" };
    case "additionalProperties": {
      const name = String(params["additionalProperty"]);
      const meant = suggest
        ? closestName(name, Object.keys(parentSchema?.["properties"] ?? {}))
        : null;
      return {
        field: join(at, name),
        reason: meant ? `unknown field; did you mean ${meant}?` : "unknown field",
      };
    }
    default:
      return { field: at || "body", reason: reasonOf(finding) };
  }
}

function wantsString(params: Finding["params"]): boolean {
  return [params["type"] as string | string[]].flat().includes("string");
}

function reasonOf({ keyword, params, parentSchema }: Finding): string {
  const own = parentSchema?.["x-reason"];
  // 9876543210 has ten digits: whoever sent it without quotes must be told what is wrong with it.
  if (typeof own === "string")
    return keyword === "type" && wantsString(params) ? `${own}, as a string` : own;
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
      return "must not hold an entry twice";
    case "minProperties":
      return "must name at least one field";
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
