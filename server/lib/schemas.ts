// The schema parts that routes share. The same schemas validate and document.
import Type, { type Static, type TSchema } from "typebox";
import { ten_digits } from "./phone-numbers.ts";

/** An ID: any 64-bit integer that a JSON number can represent. */
export const id = (description: string) =>
  Type.Integer({
    format: "int64",
    description,
    minimum: -(2 ** 63),
    maximum: 2 ** 63,
    examples: [1],
  });

/** An ID in a path: any other text is a 404. */
export const pathId = (description: string) =>
  Type.Integer({ format: "int64", description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER });

export const phone10 = (description: string) =>
  Type.String({ pattern: ten_digits, description, "x-reason": "must be exactly 10 digits" });

export const timestamp = (description: string) => Type.String({ format: "date-time", description });

/** A schema that also takes null. One schema, because an anyOf would fail with three messages. */
export function nullable<T extends TSchema>(schema: T) {
  const { type, enum: values } = schema as unknown as { type: string; enum?: unknown[] };
  return Type.Unsafe<Static<T> | null>({
    ...schema,
    type: [type, "null"],
    ...(values ? { enum: [...values, null] } : {}),
  });
}

/** An optional field; null equals omitted. */
export function optional<T extends TSchema>(schema: T) {
  return Type.Optional(nullable(schema));
}

/** An object without unknown fields. */
export function closed<T extends Record<string, TSchema>>(
  properties: T,
  options: Record<string, unknown> = {},
) {
  return Type.Object(properties, { additionalProperties: false, ...options });
}

/** A map from any text to values of one schema. Not Type.Record: its pattern matches no key with a line break. */
export function mapOf<T extends TSchema>(values: T, options: Record<string, unknown> = {}) {
  return Type.Unsafe<Record<string, Static<T>>>({
    type: "object",
    additionalProperties: values,
    ...options,
  });
}

/** The query fields of every list. */
export const pageQuery = {
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 200,
      default: 50,
      description:
        "Rows per page, at most: a page also ends after about 4 MB, so only a next cursor of null shows the end",
    }),
  ),
  cursor: Type.Optional(
    Type.String({
      description: "The next cursor of the previous page",
      minLength: 1,
      maxLength: 200,
    }),
  ),
};

/** A page, `{data, next_cursor}`. */
export function pageOf<T extends TSchema>(row: T) {
  return Type.Object(
    { data: Type.Array(row), next_cursor: nullable(Type.String()) },
    pageTitle(row),
  );
}

/** A page, `{data, nextCursor}`: lists under /crm are camelCase, like the lead. */
export function crmPageOf<T extends TSchema>(row: T) {
  return Type.Object(
    { data: Type.Array(row), nextCursor: nullable(Type.String()) },
    pageTitle(row),
  );
}

function pageTitle({ title }: { readonly title?: string }) {
  return title === undefined ? {} : { title: `${title}List` };
}

/** The error body of the standard endpoints (RFC 9457, contract 7.1). */
export const Problem = Type.Object(
  {
    type: Type.String({ description: "The error type" }),
    title: Type.String(),
    status: Type.Integer(),
    detail: Type.String(),
    request_id: Type.String(),
    errors: Type.Optional(
      Type.Array(
        Type.Object({ field: Type.String(), reason: Type.String() }, { title: "FieldError" }),
        {
          description: "Every violation",
        },
      ),
    ),
  },
  { $id: "Problem" },
);
