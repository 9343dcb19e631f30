// JSON as this service takes it: UTF-8, bounded depth, no text that PostgreSQL cannot hold, and
// integers told apart beyond 2^53. What is not JSON at all is a Refusal `malformed-body`.
import { isUtf8 } from "node:buffer";
import { Refusal, invalid, type FieldError } from "./errors.ts";

/** How deep a body may nest. */
export const depth_max = 32;
const int64_max = 2n ** 63n - 1n;

/**
 * Parses a body. Throws `malformed-body` for what is not JSON in UTF-8, `validation-failed` for
 * nesting beyond 32 levels, NUL, lone surrogates, and integers beyond 64 bits.
 */
export function parseJsonBody(body: Buffer): unknown {
  if (body.length === 0) throw malformed("the body is empty");
  if (!isUtf8(body)) throw malformed("the body is not UTF-8");
  const text = body.toString("utf8").replace(/^\uFEFF/, "");
  // Before parsing: neither a parser nor a validator should meet 100,000 levels.
  if (isNestedDeeperThan(text, depth_max)) {
    throw tooDeep();
  }
  const value = parseJsonText(text);
  const violations = /\\u(?:0000|[dD][89a-fA-F])|\d{16}/.test(text)
    ? violationsOf(value, text)
    : [];
  if (violations.length > 0) throw invalid(violations);
  return value;
}

export function tooDeep(): Refusal {
  return invalid([{ field: "body", reason: `is nested deeper than ${depth_max} levels` }]);
}

/** JSON.parse, whose complaint says nothing of the text itself. */
export function parseJsonText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw malformed((error as SyntaxError).message.replace(/, ?(?:\.\.\.)?"[\s\S]*$/, ""));
  }
}

/** What is no JSON at all. */
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

/** Only for a text that shows a sign of one: the walk is not for every request. */
function violationsOf(value: unknown, text: string): FieldError[] {
  const violations: FieldError[] = [];
  walk(value, "", violations);
  for (const path of pathsOfOverlong(text)) {
    violations.push({ field: path || "body", reason: "is an integer beyond 64 bits" });
  }
  return violations;
}

/** The reviver alone sees the digits: as a number, 2^63 - 1 and 2^63 are the same. */
function pathsOfOverlong(text: string): string[] {
  // Runs from the leaves up: each value becomes the list of the overlong integers' paths below it.
  const collect = (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source;
    if (source !== undefined) {
      return /^-?\d{16,}$/.test(source) && !fitsInt64(source) ? [""] : undefined;
    }
    // Where a key comes twice, JSON.parse may tell no digits of what its values hold.
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
      const reason = unstorable(key);
      const childPath = path ? `${path}.${key}` : key;
      if (reason) violations.push({ field: path || "body", reason: `has a key that ${reason}` });
      else walk(child, childPath, violations);
    }
  }
}

/** Why PostgreSQL cannot hold this text, or null. */
export function unstorable(text: string): string | null {
  if (text.includes("\0")) return "contains a NUL character";
  return text.isWellFormed() ? null : "contains half of a surrogate pair";
}
