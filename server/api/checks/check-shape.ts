import type { Static, TSchema } from "typebox";
import type { FieldError } from "../../lib/errors.ts";
import { compileValidator } from "../compile-validator.ts";
import { fieldErrors } from "../field-errors.ts";

/** A body and its violations of a schema. While there are any, the body may have any shape. */
export type CheckedBody<Body> = {
  readonly body: Body;
  readonly violations: readonly FieldError[];
};

/** Returns a function that checks a body against a schema, for routes that parse their bodies. */
export function shapeChecker<Schema extends TSchema>(schema: Schema) {
  const isValid = compileValidator({ schema, httpPart: "body" });
  return (body: unknown): CheckedBody<Static<Schema>> => ({
    body: body as Static<Schema>,
    violations: isValid(body) ? [] : fieldErrors(isValid.errors ?? []),
  });
}
