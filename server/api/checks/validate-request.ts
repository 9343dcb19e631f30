// The checks of a request's fields: path and query as text, then everything at once.
import type { FastifyRequest } from "fastify";
import type { TSchema } from "typebox";
import { invalid, notFound, type FieldError } from "../../lib/errors.ts";
import { unstorable } from "../../lib/json-body.ts";
import { fieldErrors, mergeErrors } from "../field-errors.ts";
import type { RequestContext, GuardedRoute } from "../route.ts";

/**
 * Runs a route's checks: precheck, then the schema's violations together with those that `validate` and
 * `explain` find.
 */
export async function validateRequest(
  route: GuardedRoute,
  context: RequestContext<never, never, never>,
): Promise<void> {
  refuseUnknownPath(context.request);
  await route.precheck?.(context);
  if (context.request.bodyRefusal) throw context.request.bodyRefusal;
  const schema = schemaErrors(context.request);
  const explained = schema.length > 0 ? ((await route.explain?.(context)) ?? []) : [];
  const values = (await route.validate?.(context)) ?? [];
  refuse(mergeErrors(schema, [...explained, ...values]));
}

/** The checks of a request that needs no token: its schemas alone. */
export function validatePublicRequest(request: FastifyRequest): void {
  refuseUnknownPath(request);
  if (request.bodyRefusal) throw request.bodyRefusal;
  refuse(schemaErrors(request));
}

/** 404 for a path that is not of the route's form, because nothing can be there. */
function refuseUnknownPath({ validationError }: FastifyRequest): void {
  if (validationError?.validationContext === "params") throw notFound();
}

function schemaErrors({ validationError }: FastifyRequest): FieldError[] {
  return fieldErrors((validationError?.validation ?? []) as unknown[]);
}

function refuse(violations: readonly FieldError[]): void {
  if (violations.length > 0) throw invalid(violations);
}

/** Query strings reach the database as they are; and "1e999" would be coerced to an infinite number. */
export function refuseOddQuery(integers: ReadonlySet<string>, request: FastifyRequest): void {
  const violations = Object.entries(request.query as Record<string, unknown>).flatMap(
    ([field, value]) => {
      const text = [value].flat().join();
      const isOdd = integers.has(field) && !/^-?\d{1,19}$/.test(text);
      const reason = isOdd ? "must be an integer" : unstorable(text);
      return reason ? [{ field, reason }] : [];
    },
  );
  refuse(violations);
}

/** Coercion would accept "1e1", "0x10" and " 10" as ids. */
export function refuseOddPath(integers: ReadonlySet<string>, request: FastifyRequest): void {
  for (const [name, text] of Object.entries(request.params as Record<string, string>)) {
    if (integers.has(name) && !/^[1-9]\d{0,15}$/.test(text)) throw notFound();
  }
}

/** The names of a schema's integers. */
export function integersOf(schema: TSchema | undefined): Set<string> {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: unknown }> };
  return new Set(Object.keys(properties).filter((name) => properties[name]?.type === "integer"));
}
