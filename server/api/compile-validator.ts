import { Ajv, type Options, type ValidateFunction } from "ajv";
import addFormats from "ajv-formats";

/** A body of 1 MB can have hundreds of thousands of errors, and blocked the process for seconds. */
const errors_max = 1_000;

// Verbose: a reason may need the schema around the error (unknown field; did you mean …?).
const shared: Options = {
  allErrors: true,
  verbose: true,
  strict: true,
  allowUnionTypes: true,
  removeAdditional: false,
};

/** JSON has types: nothing is coerced. Stops at the first error. */
const strict = new Ajv({ ...shared, allErrors: false });
/** Finds the errors of a body that is known to be invalid: with several alternatives, it may stop too early. */
const thorough = new Ajv({ ...shared, code: { process: stopAtMany } });
/** Query strings and paths are text: "50" may be a number. */
const coercing = new Ajv({ ...shared, coerceTypes: true, useDefaults: true });

for (const ajv of [strict, thorough, coercing]) {
  addFormats.default(ajv, ["email", "date-time", "uuid", "date"]);
  ajv.addFormat("int64", true);
  ajv.addFormat("binary", true);
  // x-reason is the reason reported for an invalid value; the others only document.
  ajv.addVocabulary(["x-reason", "x-extensible-enum", "example"]);
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
  const isBody = httpPart === "body";
  let compiled: ValidateFunction | undefined;
  let explaining: ValidateFunction | undefined;
  const validate = (data: unknown): boolean => {
    compiled ??= (isBody ? strict : coercing).compile(schema);
    const isValid = compiled(data);
    validate.errors = compiled.errors ?? null;
    if (isValid || !isBody) return isValid;
    explaining ??= thorough.compile(schema);
    explaining(data);
    validate.errors = explaining.errors ?? validate.errors;
    return false;
  };
  validate.errors = null as NonNullable<ValidateFunction["errors"]> | null;
  return validate;
}

/** Makes the code that Ajv generates return at the error limit. Ajv itself stops at the first error or never. */
function stopAtMany(code: string): string {
  const name = /return function (validate\d+)/.exec(code)?.[1];
  return code.replaceAll(
    /vErrors\.push\((err\d+)\);/g,
    `vErrors.push($1);if(vErrors.length>=${errors_max}){${name}.errors=vErrors;return false;}`,
  );
}
