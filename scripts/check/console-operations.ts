// Checks that the console uses every operation of the API, or that a reason is written down.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { operations_without_page } from "./operations-without-page.ts";

export type Operation = { readonly id: string; readonly method: string; readonly url: string };

type Exceptions = readonly { readonly reason: string; readonly operations: readonly string[] }[];

/**
 * Returns each operation that no source of the console calls and no exception names, and each exception that is used,
 * repeated or unknown. A source calls an operation by `api.POST("/api/v1/groups"`, posts a
 * form by `upload("/api/v1/…"`, and reads by a link,
 * audio or a stream, in which its path stands alone.
 */
export function checkConsoleOperations(
  sources: readonly string[],
  operations: readonly Operation[],
  exceptions: Exceptions = operations_without_page,
): readonly string[] {
  const used = new Set(sources.flatMap(operationsOf));
  const excepted = exceptions.flatMap((exception) => exception.operations);
  const known = new Set(operations.map(({ id }) => id));
  const isUsed = ({ method, url }: Operation) => used.has(`${method} ${toPath(url)}`);
  const unknown = excepted.filter((id) => !known.has(id));
  const repeated = excepted.filter((id, i) => excepted.indexOf(id) !== i);
  const needless = operations.filter((one) => excepted.includes(one.id) && isUsed(one));
  const missing = operations.filter((one) => !excepted.includes(one.id) && !isUsed(one));
  return [
    ...unknown.map((id) => `${id}: excepted, but no operation`),
    ...repeated.map((id) => `${id}: excepted twice`),
    ...needless.map(({ id }) => `${id}: excepted, but the console uses it`),
    ...missing.map(({ id }) => `${id}: neither used by the console nor excepted with a reason`),
  ];
}

/** Reads the console's sources; the generated types name every path. */
export function readConsoleSources(root: string, files: readonly string[]): string[] {
  return files
    .filter((file) => !file.endsWith("/api-types.ts"))
    .map((file) => readFileSync(join(root, file), "utf8"));
}

const call = /\b(?:api\s*\.(GET|POST|PUT|PATCH|DELETE)|upload)\(\s*["`](\/[^"`]+)["`]/g;

/** Returns the `METHOD /path/{}` of a source's calls, links and streams. */
function operationsOf(source: string): string[] {
  const called = Array.from(
    source.matchAll(call),
    ([, method = "POST", path]) => `${method} ${path}`,
  );
  const links = source
    .replaceAll(call, "")
    .matchAll(/["`](\/api\/v1\/(?:\$\{[^}]*\}|[^"`?\s$])+)/g);
  return [...called, ...Array.from(links, ([, path]) => `GET ${path}`)].map(withoutNames);
}

const toPath = (url: string) => withoutNames(url.replaceAll(/:\w+/g, "{}"));

/** Replaces `{name}` and `${expression}` by `{}`. */
const withoutNames = (path: string) => path.replaceAll(/\$?\{[^}]*\}/g, "{}");
