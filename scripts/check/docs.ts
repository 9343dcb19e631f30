// Checks the documentation: everything that the pages refer to must exist.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const repositoryPath =
  /^(?:server|docs|test|migrations|bench|scripts|asterisk|console|\.ci)\/[\w./*{},@-]*?(?::\d+)?$/;

/**
 * Returns, as `file:line: violation`, each relative link, each path in inline code and each npm script that the
 * `pages` (markdown files relative to `root`) name and that does not exist. Pages under docs/decisions/ describe
 * their date, and may name files that no longer exist.
 */
export function checkDocs(root: string, pages: readonly string[]): readonly string[] {
  return pages
    .filter((page) => !page.startsWith("docs/decisions/"))
    .flatMap((page) => {
      let fenced = false;
      return readFileSync(join(root, page), "utf8")
        .split("\n")
        .flatMap((line, index) => {
          if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
          const violations = fenced
            ? []
            : [...brokenLinks(root, page, line), ...deadPaths(root, line)];
          violations.push(...unknownScripts(root, line));
          return violations.map((violation) => `${page}:${index + 1}: ${violation}`);
        });
    });
}

function brokenLinks(root: string, page: string, line: string): string[] {
  const prose = line.replaceAll(/`[^`]*`/g, "");
  return [...prose.matchAll(/\]\(<?([^)\s>]+)>?[^)]*\)|^\s*\[[^\]]+\]:\s+(\S+)/g)]
    .map((match) => match[1] ?? match[2] ?? "")
    .filter((target) => !/^(?:[a-z][a-z0-9+.-]*:|#|\/\/)/i.test(target))
    .filter((target) => {
      const path = decodeURIComponent(target.replace(/[#?].*$/, ""));
      return !existsSync(join(root, posix.dirname(page), path));
    })
    .map((target) => `the link to ${target} is broken`);
}

function deadPaths(root: string, line: string): string[] {
  return [...line.matchAll(/`([^`]+)`/g)]
    .map((match) => match[1] ?? "")
    .filter((code) => repositoryPath.test(code))
    .map((code) => code.replace(/:\d+$/, ""))
    .filter((path) => globSync(path, { cwd: root }).length === 0)
    .map((path) => `${path} does not exist`);
}

function unknownScripts(root: string, line: string): string[] {
  const runs = line.matchAll(
    /\bnpm (?:--prefix (?<prefix>[\w./-]+) )?(?:run (?:-s |--silent )?(?<run>[\w:.-]*\w)|(?<word>test|start)\b)/g,
  );
  return [...runs].flatMap(({ groups }) => {
    const script = groups?.["run"] ?? groups?.["word"] ?? "";
    const file = posix.join(groups?.["prefix"] ?? ".", "package.json");
    return scriptsOf(root, file).has(script) ? [] : [`${file} has no script "${script}"`];
  });
}

function scriptsOf(root: string, file: string): ReadonlySet<string> {
  if (!existsSync(join(root, file))) return new Set();
  const { scripts = {} } = JSON.parse(readFileSync(join(root, file), "utf8")) as {
    scripts?: Record<string, string>;
  };
  return new Set(Object.keys(scripts));
}
