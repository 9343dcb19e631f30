import { eventCatalogue } from "../../engine/event-catalogue.ts";
import type { App } from "../../engine/app.ts";
import { closestName } from "../../lib/closest-name.ts";
import type { FieldError } from "../../lib/errors.ts";
import { types_max } from "./endpoint-schema.ts";

const known_types = Object.keys(eventCatalogue);

/**
 * All that a schema cannot see of an endpoint's creation or change, whose body may have any shape: an
 * address that may not be sent to, and types that nothing has.
 */
export function validateEndpoint({ outgoing }: Pick<App, "outgoing">, body: unknown): FieldError[] {
  if (typeof body !== "object" || body === null) return [];
  const { url, types }: { url?: unknown; types?: unknown } = body;
  const violation = typeof url === "string" ? outgoing.validate(url) : null;
  return [
    ...(violation === null ? [] : [{ field: "url", reason: violation }]),
    // Of more the schema says so; each costs a look for the name that was meant.
    ...(Array.isArray(types) && types.length <= types_max ? types.flatMap(validateType) : []),
  ];
}

function validateType(type: unknown, i: number): FieldError[] {
  if (typeof type !== "string" || Object.hasOwn(eventCatalogue, type)) return [];
  const meant = closestName(type, known_types);
  const reason = `is no event type${meant === null ? "" : `; did you mean ${meant}?`}`;
  return [{ field: `types.${i}`, reason }];
}
