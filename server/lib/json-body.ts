// Parses JSON bodies: UTF-8, limited depth, no text that PostgreSQL cannot store, exact integers. Anything that
// is not JSON is a Refusal `malformed-body`.
import { isUtf8 } from "node:buffer";
import { errors_shown_max, Refusal, invalid, type FieldError } from "./errors.ts";

/** The deepest nesting of a body. */
export const depth_max = 32;
const int64_max = 2n ** 63n - 1n;

/**
 * Parses a body. Throws `malformed-body` unless it is JSON in UTF-8; `validation-failed` for nesting beyond
 * 32 levels, NUL, lone surrogates, and integers beyond 64 bits.
 */
export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) throw malformed("the body is empty");
  if (!isUtf8(body)) throw malformed("the body is not UTF-8");
  const text = body.toString("utf8").replace(/^\uFEFF/, "");
  // Before parsing: neither parser nor validator should process 100,000 levels.
  if (isNestedDeeperThan(text, depth_max)) {
    throw tooDeep();
  }
  const value = parseJsonText(text);
  const violations = violationsOf(value, text);
  if (violations.length > 0) throw invalid(violations);
  return value;
}

export function tooDeep(): Refusal {
  return invalid([{ field: "body", reason: `is nested deeper than ${depth_max} levels` }]);
}

/** Parses JSON; its error does not quote the text. */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed((error as SyntaxError).message.replace(/, ?(?:\.\.\.)?"[\s\S]*$/, ""));
  }
}

/** Returns the error for text that is not valid JSON. */
export function malformed(reason: string): Refusal {
  return new Refusal("malformed-body", `The body could not be parsed as JSON: ${reason}`);
}

function isNestedDeeperThan(text: string, limit: number): boolean {
  if (text.length <= 2 * limit) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (inString) {
      if (code === 92 /* \ */) i++;
      else if (code === 34 /* " */) inString = false;
    } else if (code === 34) inString = true;
    else if (code === 91 /* [ */ || code === 123 /* { */) {
      if (++depth > limit) return true;
    } else if (code === 93 || code === 125) depth--;
  }
  return false;
}

/** Walks the value only if the text shows signs of a violation, and until there are more than a response lists. */
function violationsOf(value: unknown, text: string): FieldError[] {
  const violations: FieldError[] = [];
  if (/\\u(?:0000|[dD][89a-fA-F])/.test(text)) walk(value, "", violations);
  if (violations.length > errors_shown_max || !/\d{16}/.test(text)) return violations;
  for (const path of pathsOfOverlong(text)) {
    violations.push({ field: path || "body", reason: "is an integer beyond 64 bits" });
  }
  return violations;
}

/** Only the reviver sees the digits: as numbers, 2^63 - 1 and 2^63 are equal. */
function pathsOfOverlong(text: string): string[] {
  // Runs bottom-up: each value becomes the list of paths of overlong integers below it.
  const collect = (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (source !== undefined) {
      return /^-?\d{16,}$/.test(source) && !fitsInt64(source) ? [""] : undefined;
    }
    // For a repeated key, JSON.parse may not provide the digits of its values.
    if (typeof value !== "object" || value === null)
      return Number.isInteger(value) && Math.abs(value as number) > 2 ** 63 ? [""] : undefined;
    const below = Object.entries(value as Record<string, string[]>).flatMap(([key, paths]) =>
      paths.map((path) => (path ? `${key}.${path}` : key)),
    );
    return below.length > 0 ? below : undefined;
  };
  return (
    (JSON.parse(text, collect as Parameters<typeof JSON.parse>[1]) as string[] | undefined) ?? []
  );
}

function fitsInt64(digits: string): boolean {
  if (digits.length > 20) return false;
  const value = BigInt(digits);
  return value <= int64_max && value >= -int64_max - 1n;
}

function walk(value: unknown, path: string, violations: FieldError[]): void {
  if (typeof value === "string") {
    const reason = unstorable(value);
    if (reason) violations.push({ field: path || "body", reason });
  } else if (typeof value === "object" && value !== null) {
    for (const [key, child] of Object.entries(value)) {
      if (violations.length > errors_shown_max) return;
      const reason = unstorable(key);
      const childPath = path ? `${path}.${key}` : key;
      if (reason) violations.push({ field: path || "body", reason: `has a key that ${reason}` });
      else walk(child, childPath, violations);
    }
  }
}

/** Returns why PostgreSQL cannot store this text, or null. */
export function unstorable(text: string): string | null {
  if (text.includes("\0")) return "contains a NUL character";
  return text.isWellFormed() ? null : "contains half of a surrogate pair";
}

/** A number that may be beyond 2^53. */
const long_number = /[:,[\s]-?\d{16}/;

/**
 * Parses JSON as JSON.parse does, but integers beyond 2^53, whose digits a number cannot hold, as text: providers'
 * IDs can be that large. Throws SyntaxError.
 */
export function parseJson(text: string): unknown {
  // Reviving is several times slower than parsing.
  if (!long_number.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, { source = "" }: { source?: string } = {}) =>
    typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(source)
      ? source
      : value,
  );
}
