// Makes a malformed request from a valid one.
import type { Route } from "../../server/api/route.ts";
import type { RowRequest } from "../matrix/route-rows.ts";
import { breakBytes } from "./break-bytes.ts";
import { evil_headers, evil_json, evil_keys, evil_texts } from "./evil.ts";
import { mutateUpload, upload_type } from "./mutate-upload.ts";
import type { Random } from "./random.ts";

export type Malformed = {
  readonly method: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer | null;
  /** The route has its own error form; `either`: the mutated path may belong to another route. */
  readonly own_errors: boolean | "either";
};

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND", "QUERY"];

/** Returns the valid request with one to three mutations. */
export function mutateRequest(
  random: Random,
  route: Route,
  valid: RowRequest,
  token: string,
): Malformed {
  const draft: Mutable<Malformed> = {
    method: route.method,
    path: valid.path,
    headers: { ...valid.headers, authorization: `Bearer ${token}` },
    body: null,
    own_errors: route.renderError !== undefined,
  };
  if (valid.form) {
    draft.headers["content-type"] = upload_type;
    draft.body = mutateUpload(random, valid.form);
  } else if (valid.json !== undefined) {
    draft.headers["content-type"] = "application/json";
    draft.body = Buffer.from(JSON.stringify(valid.json));
  }
  // The form of an upload is already mutated.
  const mutations = valid.form && random.oneIn(2) ? 0 : 1 + random.below(3);
  for (let i = 0; i < mutations; i++) mutate(random, route, valid, draft);
  const isItsPath = draft.path.split("?", 1)[0] === valid.path;
  return draft.own_errors && !isItsPath ? { ...draft, own_errors: "either" } : draft;
}

function mutate(random: Random, route: Route, valid: RowRequest, draft: Mutable<Malformed>): void {
  const dice = valid.json === undefined ? 55 + random.below(45) : random.below(100);
  if (valid.json !== undefined && dice < 55) draft.body = mutateBody(random, valid.json);
  else if (dice < 63) draft.path = mutatePath(random, draft.path);
  else if (dice < 80) draft.path = mutateQuery(random, route, draft.path);
  else if (dice < 90) {
    const [name, values] = random.pick(evil_headers);
    draft.headers[name] = random.pick(values);
  } else if (dice < 93) delete draft.headers["authorization"];
  else if (dice < 95) draft.method = random.pick(methods);
  else if (draft.method !== "GET") draft.body = garbage(random);
}

/** Replaces a value, adds or removes a key, or breaks the text. */
function mutateBody(random: Random, json: unknown): Buffer {
  const fields = Object.entries(json as Record<string, unknown>).map(
    ([key, value]): [string, string] => [JSON.stringify(key), JSON.stringify(value)],
  );
  const changes = 1 + random.below(2);
  for (let i = 0; i < changes; i++) {
    const dice = random.below(10);
    const at = random.below(Math.max(fields.length, 1));
    if (dice < 6 && fields[at]) fields[at][1] = random.pick(evil_json);
    else if (dice < 8) fields.push([`"${random.pick(evil_keys)}"`, random.pick(evil_json)]);
    else if (dice < 9) fields.splice(at, 1);
    else if (fields[at]) fields.push([fields[at][0], random.pick(evil_json)]);
  }
  const text = `{${fields.map((field) => field.join(":")).join(",")}}`;
  return random.oneIn(8) ? breakBytes(random, Buffer.from(text)) : Buffer.from(text);
}

function garbage(random: Random): Buffer {
  if (random.oneIn(40)) return Buffer.alloc(1_100_000, "x");
  if (random.oneIn(2)) return Buffer.from(random.pick(evil_json));
  return Buffer.from(Array.from({ length: random.below(200) }, () => random.below(256)));
}

function mutatePath(random: Random, path: string): string {
  const [pathname = "", query] = path.split("?");
  const segments = pathname.split("/");
  const ids = segments.flatMap((segment, i) => (/^\d+$/.test(segment) ? [i] : []));
  const dice = random.below(10);
  if (dice < 7 && ids.length > 0) segments[random.pick(ids)] = random.pick(evil_texts);
  else if (dice < 8) segments.push(random.pick(evil_texts));
  else if (dice < 9) segments.splice(random.below(segments.length), 1);
  else segments.splice(1 + random.below(segments.length), 0, "");
  const mutated = segments.join("/");
  return (mutated.startsWith("/") ? mutated : `/${mutated}`) + (query ? `?${query}` : "");
}

function mutateQuery(random: Random, route: Route, path: string): string {
  const schema = (route.query ?? {}) as { properties?: Record<string, unknown> };
  const known = Object.keys(schema.properties ?? {});
  const name = known.length > 0 && !random.oneIn(4) ? random.pick(known) : random.pick(evil_texts);
  const value = random.pick(evil_texts);
  const more = random.pick([
    `${name}=${value}`,
    `${name}=${value}`,
    `${name}=${value}&${name}=${random.pick(evil_texts)}`,
    `${name}[]=${value}`,
    `${name}[a][b]=${value}`,
    name,
    "=",
    "&&&",
    `__proto__[polluted]=${value}`,
  ]);
  return `${path}${path.includes("?") ? "&" : "?"}${more}`;
}
