// `npm run check [-- piece ...]`: runs every check even if one fails; the exit code shows the result.
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { routes } from "../server/api/routes.ts";
import { checkBoundaries } from "./check/boundaries.ts";
import { checkConsoleOperations, readConsoleSources } from "./check/console-operations.ts";
import { checkDocs } from "./check/docs.ts";
import { checkMigrations } from "./check/migrations.ts";
import { checkFunctions } from "./check/sql.ts";
import { checkVocabulary } from "./check/vocabulary.ts";

type Verdict = { readonly ok: boolean; readonly text: string };
type Piece = { readonly name: string; run(): Verdict };

const root = join(import.meta.dirname, "..");

const pieces: readonly Piece[] = [
  // First: the console's code is checked against them.
  tool("api-types", "node", "scripts/generate-api-types.ts"),
  tool("format", "oxfmt", "--check", "."),
  tool("lint", "oxlint", "--format=stylish"),
  tool("types", "tsc", "--noEmit"),
  tool("console-types", "tsc", "--noEmit", "-p", "console"),
  tool("browser-types", "tsc", "--noEmit", "-p", "test/browser"),
  { name: "boundaries", run: boundaries },
  { name: "console-operations", run: consoleOperations },
  tool("dead-code", "knip", "--no-progress", "--treat-config-hints-as-errors"),
  { name: "docs", run: docs },
  { name: "vocabulary", run: vocabulary },
  { name: "migrations", run: migrations },
  { name: "sql", run: sqlFunctions },
  tool("database-types", "node", "scripts/generate-database-types.ts", "--check"),
];

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !pieces.some((piece) => piece.name === name));
if (unknown.length > 0) {
  console.error(
    `unknown check: ${unknown.join(", ")}; available: ${pieces.map((p) => p.name).join(", ")}`,
  );
  process.exit(2);
}
const failed = pieces
  .filter((piece) => asked.length === 0 || asked.includes(piece.name))
  .filter((piece) => !passes(piece));
if (failed.length > 0) {
  console.error(`\ncheck failed: ${failed.map((piece) => piece.name).join(", ")}`);
  process.exitCode = 1;
}

function passes(piece: Piece): boolean {
  const began_ms = performance.now();
  const { ok, text } = piece.run();
  const seconds = ((performance.now() - began_ms) / 1000).toFixed(1);
  console.log(`${ok ? "ok    " : "FAILED"} ${piece.name} (${seconds} s)`);
  if (text !== "") console.log(text.replaceAll(/^(?=.)/gm, "       "));
  return ok;
}

/** Runs a command of node_modules/.bin, silent unless it fails. */
function tool(name: string, command: string, ...args: string[]): Piece {
  const run = (): Verdict => {
    const path = `${join(root, "node_modules/.bin")}:${process.env["PATH"] ?? ""}`;
    const env = { ...process.env, PATH: path, NO_COLOR: "1", FORCE_COLOR: "0" };
    const done = spawnSync(command, args, { cwd: root, env, encoding: "utf8" });
    if (done.error) return { ok: false, text: `${command}: ${done.error.message}` };
    const ok = done.status === 0;
    return { ok, text: ok ? "" : `${done.stdout}\n${done.stderr}`.trim() };
  };
  return { name, run };
}

function boundaries(): Verdict {
  const { modules, imports, violations } = checkBoundaries(root, repositoryFiles("server/*.ts"));
  if (violations.length > 0) return { ok: false, text: violations.join("\n") };
  return { ok: true, text: `${modules} modules, ${imports} imports` };
}

function docs(): Verdict {
  const pages = repositoryFiles("*.md");
  const violations = checkDocs(root, pages);
  if (violations.length > 0) return { ok: false, text: violations.join("\n") };
  return { ok: true, text: `${pages.length} pages` };
}

function consoleOperations(): Verdict {
  const sources = readConsoleSources(root, [
    ...repositoryFiles("console/*.ts"),
    ...repositoryFiles("console/*.tsx"),
  ]);
  const violations = checkConsoleOperations(sources, routes);
  if (violations.length > 0) return { ok: false, text: violations.join("\n") };
  return { ok: true, text: `${routes.length} operations` };
}

function migrations(): Verdict {
  const files = repositoryFiles("migrations/*.sql").filter((file) =>
    /^migrations\/[^/]+$/.test(file),
  );
  const violations = checkMigrations(root, files);
  if (violations.length > 0) return { ok: false, text: violations.join("\n") };
  return { ok: true, text: `${files.length} files` };
}

function sqlFunctions(): Verdict {
  const files = repositoryFiles("migrations/functions/*.sql");
  const { statements, violations } = checkFunctions(root, files);
  if (violations.length > 0) return { ok: false, text: violations.join("\n") };
  return { ok: true, text: `${files.length} functions, ${statements} statements` };
}

function vocabulary(): Verdict {
  const files = ["*.ts", "*.sql", "*.md", "*.sh", "*.conf", ".ci/run", ".env.example"]
    .flatMap(repositoryFiles)
    .filter((file) => !isHistory(file));
  const violations = checkVocabulary(root, files);
  if (violations.length > 0) return { ok: false, text: violations.join("\n") };
  return { ok: true, text: `${files.length} files` };
}

/** Files that stay as they were written: decisions, benchmark results, applied migrations. */
function isHistory(file: string): boolean {
  return /^(?:docs\/decisions|bench\/results|migrations\/\d)/.test(file);
}

/** Lists the files that git tracks or would track, as in the working tree. */
function repositoryFiles(pattern: string): string[] {
  const list = (...args: string[]) =>
    execFileSync("git", ["ls-files", "-z", ...args, "--", pattern], { cwd: root, encoding: "utf8" })
      .split("\0")
      .filter((file) => file !== "");
  const deleted = new Set(list("--deleted"));
  return list("--cached", "--others", "--exclude-standard").filter((file) => !deleted.has(file));
}
