// Keeps the ladder of ARCHITECTURE.md: who may import whom under server/.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { parseSync } from "oxc-parser";

/** From the top down. A part imports its own files and rows below its own, never a neighbour. */
const ladder: readonly (readonly string[])[] = [
  ["main", "cli"],
  ["print-welcome"],
  ["worker", "api", "seed-demo"],
  ["config"],
  ["automation", "live", "reports", "retention"],
  ["crm", "chat", "voice"],
  ["calls"],
  ["audience", "credits", "callbacks"],
  ["accounts"],
  ["engine"],
  ["drivers"],
  ["lib"],
];
/** Packages that a part must not know, whatever its row. */
const barredPackages: Readonly<Record<string, readonly string[]>> = {
  drivers: ["pg", "pg-copy-streams", "pg-cursor", "kysely", "fastify"],
};

/**
 * Reads every module under `root`/server and returns each import that breaks the ladder, each
 * module that could not be read and each file the walk missed. `expected` lists the files that
 * must have been seen, found by other means, so that a walk that sees too little cannot pass.
 */
export function checkBoundaries(
  root: string,
  expected: readonly string[],
): { readonly modules: number; readonly imports: number; readonly faults: readonly string[] } {
  const seen = new Set(typescriptFiles(root, "server"));
  const faults = expected
    .filter((file) => !seen.has(file))
    .map((file) => `${file}: this file was not seen by the checker`);
  if (seen.size === 0) faults.push("server/: no module was seen");
  let imports = 0;
  for (const file of seen) {
    if (!ladder.flat().includes(partOf(file))) {
      faults.push(`${file}: "${partOf(file)}" has no place on the ladder`);
    }
    const read = readImports(root, file);
    faults.push(...read.faults);
    imports += read.requests.length;
    for (const request of read.requests) {
      const fault = judge(file, request, seen);
      if (fault !== null) faults.push(`${file}: imports ${request}, ${fault}`);
    }
  }
  return { modules: seen.size, imports, faults };
}

/** Why this import is refused, or null. */
function judge(from: string, request: string, seen: ReadonlySet<string>): string | null {
  const test = from.endsWith(".test.ts");
  const part = partOf(from);
  if (!request.startsWith(".")) {
    const barred = barredPackages[part]?.some((name) => `${request}/`.startsWith(`${name}/`));
    return barred === true && !test ? `which ${part} must not know` : null;
  }
  const to = posix.join(posix.dirname(from), request);
  if (!to.startsWith("server/")) return test ? null : judgeOutside(to);
  if (!seen.has(to)) return to.endsWith(".json") ? null : "which does not exist";
  if (test) return null;
  if (to.endsWith(".test.ts")) return "which is a test";
  return judgeRow(from, to) ?? judgeDepth(from, to);
}

/** What server/ may read beside its own modules: data of the package, never tests or tools. */
function judgeOutside(to: string): string | null {
  return to === "package.json" || to.startsWith("migrations/") ? null : "which is outside server/";
}

function judgeRow(from: string, to: string): string | null {
  const [mine, theirs] = [partOf(from), partOf(to)];
  if (mine === theirs) return null;
  const [row, below] = [rowOf(mine), rowOf(theirs)];
  if (below > row) return null;
  return below === row ? `a neighbour on the ladder` : `which stands above ${mine}`;
}

/** Subfolders are private to the folder they are in; a driver's kind shows only its driver.ts. */
function judgeDepth(from: string, to: string): string | null {
  if (partOf(to) === "drivers") {
    const kind = posix.dirname(to);
    // A file beside driver.ts chooses among the drivers of its kind; these do not know each other.
    const isChoice =
      from.startsWith("server/drivers/") && kind.startsWith(`${posix.dirname(from)}/`);
    const inside = isChoice || from.startsWith(`${kind}/`) || posix.basename(to) === "driver.ts";
    return inside || from === "server/main.ts" ? null : "a driver's implementation";
  }
  const folders = to.split("/").slice(1, -1);
  // lib is a collection: each of its subfolders stands for itself.
  const owner = ["server", ...folders.slice(0, partOf(to) === "lib" ? 2 : 1)].join("/");
  if (posix.dirname(to) === owner || from.startsWith(`${owner}/`)) return null;
  return `which is private to ${owner}/`;
}

/** The first folder under server/, or the name of a file that stands there alone. */
function partOf(file: string): string {
  const name = file.split("/")[1] ?? "";
  return name.replace(/(\.test)?\.ts$/, "");
}

function rowOf(part: string): number {
  return ladder.findIndex((row) => row.includes(part));
}

/** Static, dynamic and re-exporting imports, types included, and `new URL("./x.ts", import.meta.url)`. */
function readImports(root: string, file: string): { requests: string[]; faults: string[] } {
  const source = readFileSync(join(root, file), "utf8");
  const { module, errors } = parseSync(file, source);
  const requests = [
    ...module.staticImports.map((found) => found.moduleRequest.value),
    ...module.staticExports
      .flatMap((found) => found.entries)
      .flatMap((entry) => entry.moduleRequest?.value ?? []),
    ...module.dynamicImports.map((found) =>
      source
        .slice(found.moduleRequest.start, found.moduleRequest.end)
        .replaceAll(/^["'`]|["'`]$/g, ""),
    ),
    ...[...source.matchAll(/new URL\(\s*"([^"]+\.ts)",\s*import\.meta\.url/g)].map(
      (match) => match[1] ?? "",
    ),
  ];
  return {
    requests: [...new Set(requests)],
    faults: errors.map((error) => `${file}: cannot be parsed (${error.message})`),
  };
}

function typescriptFiles(root: string, dir: string): string[] {
  return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}
