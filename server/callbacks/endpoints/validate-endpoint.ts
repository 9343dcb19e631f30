import { eventCatalogue } from "../../engine/event-catalogue.ts";
import type { App } from "../../engine/app.ts";
import { closestName } from "../../lib/closest-name.ts";
import type { FieldError } from "../../lib/errors.ts";
import { types_max } from "./endpoint-schema.ts";

const known_types = Object.keys(eventCatalogue);

/**
 * Returns the violations that the schema cannot detect in an endpoint's creation or change: a URL that the
 * outgoing guard forbids, and unknown event types. The body may have any shape.
 */
export function validateEndpoint({ outgoing }: Pick<App, "outgoing">, body: unknown): FieldError[] {
  if (typeof body !== "object" || body === null) return [];
  const { url, types }: { url?: unknown; types?: unknown } = body;
  const violation = typeof url === "string" ? outgoing.validate(url) : null;
  return [
    ...(violation === null ? [] : [{ field: "url", reason: violation }]),
    // The schema reports a longer list; each unknown type costs a search for the closest name.
    ...(Array.isArray(types) && types.length <= types_max ? types.flatMap(validateType) : []),
  ];
}

function validateType(type: unknown, i: number): FieldError[] {
  if (typeof type !== "string" || Object.hasOwn(eventCatalogue, type)) return [];
  const closest = closestName(type, known_types);
  const reason = `must be an event type${closest === null ? "" : `; did you mean ${closest}?`}`;
  return [{ field: `types.${i}`, reason }];
}
