import { Ajv, type Options, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";

// Verbose: a reason may need the schema around the error (unknown field; did you mean …?).
const shared: Options = {
  allErrors: true,
  verbose: true,
  strict: true,
  allowUnionTypes: true,
  removeAdditional: false,
};

/** JSON has types: nothing is coerced. */
const strict = new Ajv(shared);
/** Query strings and paths are text: "50" may be a number. */
const coercing = new Ajv({ ...shared, coerceTypes: true, useDefaults: true });

for (const ajv of [strict, coercing]) {
  addFormats.default(ajv, ["email", "date-time", "uuid", "date"]);
  ajv.addFormat("int64", true);
  ajv.addFormat("binary", true);
  // x-reason is the reason reported for an invalid value; example only documents.
  ajv.addVocabulary(["x-reason", "example"]);
}

/**
 * Fastify's validator compiler; `schema` is that of one part of a request. Compiles on first use: compiling
 * all schemas at startup took most of the startup time.
 */
export function compileValidator({
  schema,
  httpPart,
}: {
  schema: object;
  httpPart?: string | undefined;
}) {
  const ajv = httpPart === "body" ? strict : coercing;
  let compiled: ValidateFunction | undefined;
  const validate = (data: unknown): boolean => {
    compiled ??= ajv.compile(schema);
    const isValid = compiled(data);
    validate.errors = compiled.errors ?? null;
    return isValid;
  };
  validate.errors = null as NonNullable<ValidateFunction["errors"]> | null;
  return validate;
}
