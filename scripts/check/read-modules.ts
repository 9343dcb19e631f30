// Reads the modules under server/ and their imports.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parseSync } from "oxc-parser";

/** A TypeScript file, by its path from the root, with the specifiers it imports, each once. */
export type Module = { readonly file: string; readonly requests: readonly string[] };

/** Reads every TypeScript file under `root`/server; `violations` names each that cannot be parsed. */
export function readModules(root: string): { modules: Module[]; violations: string[] } {
  const violations: string[] = [];
  const modules = typescriptFiles(root, "server").map((file) => {
    const read = readImports(root, file);
    violations.push(...read.violations);
    return { file, requests: read.requests };
  });
  return { modules, violations };
}

/** Static, dynamic and re-exporting imports, types included, and `new URL("./x.ts", import.meta.url)`. */
function readImports(root: string, file: string): { requests: string[]; violations: string[] } {
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
    violations: errors.map((error) => `${file}: cannot be parsed (${error.message})`),
  };
}

function typescriptFiles(root: string, dir: string): string[] {
  return readdirSync(join(root, dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
}
