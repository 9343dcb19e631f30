import { eventNeed } from "../../accounts/event-needs.ts";
import type { Permission } from "../../accounts/permissions.ts";
import { eventCatalogue, type EventType } from "../../engine/event-catalogue.ts";
import type { FieldError } from "../../lib/errors.ts";
import { types_max } from "./endpoint-schema.ts";

const known_types = Object.keys(eventCatalogue) as EventType[];

/**
 * Returns those of the event types (null: all) whose events none of the permissions shows. The account's features do not
 * count, because it may get more of them later.
 */
export function hiddenTypes(
  permissions: ReadonlySet<Permission>,
  types: readonly unknown[] | null,
): EventType[] {
  return known_types.filter(
    (type) =>
      (types === null || types.includes(type)) &&
      !eventNeed(type).anyOf.some((permission) => permissions.has(permission)),
  );
}

/** Returns a violation of the field `types` that names the hidden types, or none. */
export function hiddenViolations(hidden: readonly EventType[]): FieldError[] {
  if (hidden.length === 0) return [];
  const reason = `must be types of events that your permissions let you see, which these are not: ${hidden.join(", ")}`;
  return [{ field: "types", reason }];
}

/**
 * Returns the violation of a new endpoint whose events its creator may not see: a callback would show them. The body may
 * have any shape.
 */
export function validateVisible(permissions: ReadonlySet<Permission>, body: unknown): FieldError[] {
  const { types = null } = (body ?? {}) as { types?: unknown };
  // The schema reports a longer list.
  if (types !== null && !(Array.isArray(types) && types.length <= types_max)) return [];
  return hiddenViolations(hiddenTypes(permissions, types));
}
