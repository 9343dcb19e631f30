// Validates one recipient as the schema Contact does, without a schema validator, which takes four
// times as long to load in a thread and collects every violation of a hostile body.
import { closestName } from "../../../lib/closest-name.ts";
import type { FieldError } from "../../../lib/errors.ts";
import { unstorable } from "../../../lib/json-body.ts";
import { variables_max } from "./limits.ts";

export type Contact = {
  readonly phone_number: string;
  readonly variables?: Readonly<Record<string, string>> | null;
};

const fields = ["phone_number", "variables"];
/** Misspelt names are searched for only in rows of a plausible size. */
const suggest_max = 20;

/** Returns whether a recipient's shape is valid. */
export function isContact(row: unknown): row is Contact {
  if (typeof row !== "object" || row === null || Array.isArray(row)) return false;
  for (const name of Object.keys(row))
    if (name !== "phone_number" && name !== "variables") return false;
  const { phone_number, variables } = row as Record<string, unknown>;
  if (typeof phone_number !== "string") return false;
  if (variables === undefined || variables === null) return true;
  if (typeof variables !== "object" || Array.isArray(variables)) return false;
  const values: readonly unknown[] = Object.values(variables);
  return values.length <= variables_max && values.every((value) => typeof value === "string");
}

/** Returns the violations of the recipient at `path`, at most `violations_max`. */
export function contactViolations(
  row: unknown,
  path: string,
  violations_max: number,
): FieldError[] {
  if (typeof row !== "object" || row === null || Array.isArray(row))
    return [{ field: path, reason: "must be an object" }];
  const own = row as Record<string, unknown>;
  const violations: FieldError[] = [];
  if (!Object.hasOwn(own, "phone_number"))
    violations.push({ field: `${path}.phone_number`, reason: "is required" });
  else if (typeof own["phone_number"] !== "string")
    violations.push({ field: `${path}.phone_number`, reason: "must be a string" });
  violations.push(...variablesViolations(own["variables"], `${path}.variables`, violations_max));
  for (const name of Object.keys(own)) {
    if (violations.length >= violations_max) break;
    if (fields.includes(name)) continue;
    const meant = violations.length < suggest_max ? closestName(name, fields) : null;
    const reason = meant ? `unknown field; did you mean ${meant}?` : "unknown field";
    violations.push({ field: `${path}.${name}`, reason });
  }
  return violations.slice(0, violations_max);
}

function variablesViolations(
  variables: unknown,
  path: string,
  violations_max: number,
): FieldError[] {
  if (variables === undefined || variables === null) return [];
  if (typeof variables !== "object" || Array.isArray(variables))
    return [{ field: path, reason: "must be an object" }];
  const names = Object.keys(variables);
  if (names.length > variables_max)
    return [{ field: path, reason: `must have at most ${variables_max} entries` }];
  return names
    .filter((name) => typeof (variables as Record<string, unknown>)[name] !== "string")
    .slice(0, violations_max)
    .map((name) => ({ field: `${path}.${name}`, reason: "must be a string" }));
}

/** Returns why PostgreSQL cannot store a recipient's texts; called only for suspicious bodies. */
export function storageViolations(
  { phone_number, variables }: Contact,
  path: string,
): FieldError[] {
  const violations: FieldError[] = [];
  const check = (field: string, text: string, is: (reason: string) => string) => {
    const reason = unstorable(text);
    if (reason) violations.push({ field, reason: is(reason) });
  };
  check(`${path}.phone_number`, phone_number, (reason) => reason);
  for (const [name, value] of Object.entries(variables ?? {})) {
    check(`${path}.variables`, name, (reason) => `has a key that ${reason}`);
    check(`${path}.variables.${name}`, value, (reason) => reason);
  }
  return violations;
}
