// Moves the titled schemas of the OpenAPI document to components, where its paths refer to them by their titles.
import { isDeepStrictEqual } from "node:util";

type Json = { readonly [key: string]: unknown };
type Component = { readonly shape: Json; readonly description: unknown };

type Response = Json & {
  readonly description: string;
  readonly headers?: Json;
  readonly content?: Readonly<Record<string, { readonly schema?: Json }>>;
};
type Operation = Json & { readonly responses: Readonly<Record<string, Response>> };
type Document = {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Json;
  readonly components: Json & { readonly schemas: Json };
};

/** Headers and responses that many operations have, by the names of their components. */
export type SharedComponents = { readonly headers: Json; readonly responses: Json };

/** These hold data, no schemas. */
const data_keys = new Set(["const", "default", "enum", "example", "examples"]);

/**
 * Returns the document with every titled schema as a component, and with the shared headers and responses. Throws
 * if two schemas with one title differ in more than their descriptions and whether they take null.
 */
export function nameComponents<D extends object>(document: D, shared: SharedComponents): D {
  // A copy, because Fastify validates and serializes by the schemas of the routes.
  const copy = JSON.parse(JSON.stringify(document)) as Document;
  const { refer, collected } = openSchemas();
  const paths = mapValues(copy.paths, (operations) =>
    mapValues(operations, (operation) => {
      const responses = mapValues(operation.responses, (response) =>
        nameResponse(response, shared),
      );
      return refer({ ...operation, responses });
    }),
  );
  const webhooks = refer(copy.webhooks);
  const own = mapValues(copy.components.schemas, refer);
  const schemas = Object.entries({ ...own, ...collected() });
  const sorted = Object.fromEntries(schemas.toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return {
    ...document,
    paths,
    webhooks,
    components: { ...copy.components, schemas: sorted, ...shared },
  };
}

function mapValues<Value, Result>(
  values: Readonly<Record<string, Value>>,
  change: (value: Value, key: string) => Result,
): Record<string, Result> {
  return Object.fromEntries(
    Object.entries(values).map(([key, value]) => [key, change(value, key)]),
  );
}

function nameResponse(response: Response, shared: SharedComponents): unknown {
  const name = Object.entries(shared.responses).find(([, other]) =>
    isDeepStrictEqual(other, response),
  )?.[0];
  if (name !== undefined) return { $ref: `#/components/responses/${name}` };
  const { headers, content, description } = response;
  return {
    ...response,
    ...(headers && {
      headers: mapValues(headers, (header, of) =>
        isDeepStrictEqual(header, shared.headers[of])
          ? { $ref: `#/components/headers/${of}` }
          : header,
      ),
    }),
    ...(content && {
      content: mapValues(content, (media) => withoutSummary(media, description)),
    }),
  };
}

/** The summary of an operation describes the response, and must not describe the component. */
function withoutSummary({ schema, ...rest }: { readonly schema?: Json }, summary: string) {
  const { description, ...undescribed } = schema ?? {};
  return { ...rest, schema: description === summary ? undescribed : schema };
}

function openSchemas() {
  const components = new Map<string, Component>();

  const refer = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(refer);
    if (typeof value !== "object" || value === null) return value;
    const schema = mapValues(value as Json, (part, key) => {
      if (data_keys.has(key)) return part;
      // A property may have the name of a keyword.
      return key === "properties" ? mapValues(part as Json, refer) : refer(part);
    });
    return typeof schema["title"] === "string" ? nameSchema(schema["title"], schema) : schema;
  };

  const nameSchema = (name: string, { description, ...rest }: Json): Json => {
    const { shape, isNullable } = withoutNull(rest);
    const known = components.get(name) ?? { shape, description };
    components.set(name, known);
    if (!isDeepStrictEqual(known.shape, shape))
      throw new Error(`two schemas with different shapes have the title ${name}`);
    const ref = { $ref: `#/components/schemas/${name}` };
    return {
      ...(description === known.description ? {} : { description }),
      ...(isNullable ? { anyOf: [ref, { type: "null" }] } : ref),
    };
  };

  const collected = () =>
    Object.fromEntries(
      [...components].map(([name, { shape, description }]) => [
        name,
        { ...(description === undefined ? {} : { description }), ...shape },
      ]),
    );
  return { refer, collected };
}

function withoutNull({ title: _title, ...shape }: Json) {
  const types: readonly unknown[] = Array.isArray(shape["type"]) ? shape["type"] : [];
  if (!types.includes("null")) return { shape, isNullable: false };
  const others = types.filter((type) => type !== "null");
  return {
    shape: { ...shape, type: others.length === 1 ? others[0] : others },
    isNullable: true,
  };
}
