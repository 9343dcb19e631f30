// Enforces the rows of CONTRIBUTING.md: which folder under server/ may import which.
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { findCycles } from "./find-cycles.ts";
import { readModules } from "./read-modules.ts";

type Ladder = readonly (readonly string[])[];

/** From the top down. A folder imports its own files and rows below its own, never a neighbor. */
export const ladder: Ladder = [
  ["start"],
  ["main", "cli"],
  ["service"],
  ["print-welcome"],
  ["worker", "api", "seed-demo"],
  ["job-queues"],
  ["console"],
  ["config"],
  ["live", "people", "reports", "retention"],
  ["crm", "chat", "voice"],
  ["calls"],
  ["telephony"],
  ["audience", "credits", "callbacks"],
  ["accounts"],
  ["engine"],
  ["drivers"],
  ["embedded-postgres"],
  ["lib"],
];
/**
 * The entity folders of features, by the same rule. Files directly in such a feature are shared by its entities:
 * the row below them.
 */
export const entities: Readonly<Record<string, Ladder>> = {
  accounts: [
    ["invitations"],
    ["saved-views", "sessions"],
    ["tokens", "users"],
    ["roles"],
    ["accounts"],
    ["audit"],
  ],
  audience: [["recipients"], ["groups"], ["suppressions"], ["intake"]],
  callbacks: [["deliveries", "replays"], ["endpoints"]],
  calls: [["leader"], ["audio", "controls", "records"], ["state-machine"], ["click-to-call"]],
  chat: [
    ["sender"],
    ["single-messages"],
    ["inbound"],
    ["campaigns"],
    ["templates"],
    ["flows", "numbers"],
    ["credentials", "holds", "messages", "recipients"],
  ],
  crm: [["contacts", "fields", "lead-imports"], ["leads"], ["workspaces"]],
  telephony: [["trunks"], ["agent-groups", "agent-numbers", "extensions", "nodes", "numbers"]],
  voice: [["ai-agents", "campaigns"], ["menus"], ["files"]],
};
const folder_files_max = 25;
/** Packages that a folder must not import, whatever its row. */
const barredPackages: Readonly<Record<string, readonly string[]>> = {
  drivers: ["pg", "pg-copy-streams", "pg-cursor", "kysely", "fastify"],
};

/**
 * Reads every module under `root`/server and returns each import that breaks the rows, each import cycle, each
 * public file that only its own folder uses, each folder with too many files, each module that could not be read
 * and each file that was missed. `expected` lists the files that must have been seen, found independently, so that
 * an incomplete walk cannot pass.
 */
export function checkBoundaries(
  root: string,
  expected: readonly string[],
): { readonly modules: number; readonly imports: number; readonly violations: readonly string[] } {
  const { modules, violations } = readModules(root);
  const seen = new Set(modules.map(({ file }) => file));
  violations.push(
    ...expected
      .filter((file) => !seen.has(file))
      .map((file) => `${file}: this file was not seen by the checker`),
  );
  if (seen.size === 0) violations.push("server/: no module was seen");
  for (const { file, requests } of modules) {
    violations.push(...placeOf(file));
    for (const request of requests) {
      const reason = reasonAgainst(file, request, seen);
      if (reason !== null) violations.push(`${file}: imports ${request}, ${reason}`);
    }
  }
  const imports = new Map(
    modules
      .filter(({ file }) => !isTest(file))
      .map(({ file, requests }) => [file, requests.map((request) => target(file, request))]),
  );
  violations.push(
    ...findCycles(imports).map((files) => `${files.join(", ")}: import each other in a circle`),
    ...unusedPublicFiles(imports, consoleImports(root)),
    ...crowdedFolders(imports.keys()),
  );
  return {
    modules: modules.length,
    imports: modules.reduce((sum, { requests }) => sum + requests.length, 0),
    violations,
  };
}

/** Returns a violation if the file's folder or entity has no row. */
function placeOf(file: string): string[] {
  const [part, entity] = [partOf(file), entityOf(file)];
  if (rowOf(ladder, part) < 0) return [`${file}: "${part}" has no place on the ladder`];
  const rows = entities[part];
  if (rows === undefined || entity === null || rowOf(rows, entity) >= 0) return [];
  return [`${file}: "${part}/${entity}" has no place on the ladder of ${part}`];
}

/** Returns why this import is not allowed, or null. */
function reasonAgainst(from: string, request: string, seen: ReadonlySet<string>): string | null {
  const test = isTest(from);
  const part = partOf(from);
  if (!request.startsWith(".")) {
    const barred = barredPackages[part]?.some((name) => `${request}/`.startsWith(`${name}/`));
    return barred === true && !test ? `which ${part} must not know` : null;
  }
  const to = target(from, request);
  if (!to.startsWith("server/")) return test || isData(to) ? null : "which is outside server/";
  if (!seen.has(to)) return to.endsWith(".json") ? null : "which does not exist";
  if (test) return null;
  if (isTest(to)) return "which is a test";
  return againstRows(from, to) ?? againstDepth(from, to);
}

/** Data files of the package that server/ may read besides its own modules. */
function isData(to: string): boolean {
  return to === "package.json" || to.startsWith("migrations/");
}

function againstRows(from: string, to: string): string | null {
  const [mine, theirs] = [partOf(from), partOf(to)];
  if (mine !== theirs) return compareRows(ladder, mine, theirs);
  const rows = entities[mine];
  const [entity, other] = [entityOf(from), entityOf(to)];
  if (rows === undefined || entity === other || other === null) return null;
  if (entity === null) return `which stands above the files of ${mine}/`;
  return compareRows(rows, entity, other);
}

function compareRows(rows: Ladder, mine: string, theirs: string): string | null {
  const [row, below] = [rowOf(rows, mine), rowOf(rows, theirs)];
  if (below > row) return null;
  return below === row ? "a neighbor on the ladder" : `which stands above ${mine}`;
}

/** They open the implementations of drivers: the service, and the session of a command. */
const composition_roots: ReadonlySet<string> = new Set([
  "server/service.ts",
  "server/cli/session.ts",
]);

/** Subfolders are private to their folder; a kind of driver exposes only its driver.ts. */
function againstDepth(from: string, to: string): string | null {
  if (partOf(to) === "drivers") {
    const kind = posix.dirname(to);
    // A file beside driver.ts chooses among the drivers of its kind, which do not import each other.
    const isChoice =
      from.startsWith("server/drivers/") && kind.startsWith(`${posix.dirname(from)}/`);
    const inside = isChoice || from.startsWith(`${kind}/`) || posix.basename(to) === "driver.ts";
    return inside || composition_roots.has(from) ? null : "a driver's implementation";
  }
  const owner = publicFolderOf(to);
  if (posix.dirname(to) === owner || from.startsWith(`${owner}/`)) return null;
  return `which is private to ${owner}/`;
}

/** Returns the server's modules that the console imports at run time. */
function consoleImports(root: string): string[] {
  const file = join(root, "console/from-server.ts");
  if (!existsSync(file)) return [];
  return Array.from(
    readFileSync(file, "utf8").matchAll(/"\.\.\/(server\/[^"]+)"/g),
    ([, to]) => to!,
  );
}

/** Returns the files directly in an entity folder that nothing outside it, nor the console, imports. */
function unusedPublicFiles(
  imports: ReadonlyMap<string, readonly string[]>,
  by_console: readonly string[],
): string[] {
  const used = new Set(by_console);
  for (const [from, targets] of imports) {
    for (const to of targets) if (publicFolderOf(to) !== publicFolderOf(from)) used.add(to);
  }
  return [...imports.keys()]
    .filter((file) => partOf(file) in entities && entityOf(file) !== null)
    .filter((file) => posix.dirname(file) === publicFolderOf(file) && !used.has(file))
    .map((file) => `${file}: only ${publicFolderOf(file)}/ uses it; move it to a subfolder`);
}

function crowdedFolders(files: Iterable<string>): string[] {
  const counts = new Map<string, number>();
  for (const file of files) {
    const folder = posix.dirname(file);
    counts.set(folder, (counts.get(folder) ?? 0) + 1);
  }
  return [...counts]
    .filter(([, count]) => count > folder_files_max)
    .map(([folder, count]) => `${folder}/: ${count} files, more than ${folder_files_max}`);
}

/** Returns the folder whose direct files others may import: an entity's, else the feature's. */
function publicFolderOf(file: string): string {
  const folders = file.split("/").slice(1, -1);
  // lib is a collection: each of its subfolders is separate.
  const hasEntities = folders[0] === "lib" || (folders[0] ?? "") in entities;
  return ["server", ...folders.slice(0, hasEntities ? 2 : 1)].join("/");
}

/** Returns the first folder under server/, or the name of a file directly in it. */
function partOf(file: string): string {
  return (file.split("/")[1] ?? "").replace(/(\.test)?\.ts$/, "");
}

/** Returns the entity folder of a feature; null for a file directly in the feature. */
function entityOf(file: string): string | null {
  const folders = file.split("/").slice(1, -1);
  return (folders[0] ?? "") in entities ? (folders[1] ?? null) : null;
}

function rowOf(rows: Ladder, name: string): number {
  return rows.findIndex((row) => row.includes(name));
}

function target(from: string, request: string): string {
  return request.startsWith(".") ? posix.join(posix.dirname(from), request) : request;
}

function isTest(file: string): boolean {
  return file.endsWith(".test.ts");
}
