// Keeps the words of docs/glossary.md: a retired word fails wherever it comes back.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { allowedUses, type AllowedUse } from "./vocabulary-allowed.ts";

type RetiredWord = { readonly word: string; readonly replacement: string; readonly found: RegExp };

const glossary = "docs/glossary.md";
const own_files = new Set([glossary, "scripts/check/vocabulary-allowed.ts"]);
const heading = "## Retired words";

/**
 * Returns, as `file:line: …`, each retired word in the text or the name of `files` (relative to
 * `root`) that no allowed use covers, with its replacement, and each allowed use that covers
 * nothing. Words are found in prose and inside identifiers, in any case and inflection.
 */
export function checkVocabulary(
  root: string,
  files: readonly string[],
  allowed: readonly AllowedUse[] = allowedUses,
): readonly string[] {
  const retired = readRetiredWords(readFileSync(join(root, glossary), "utf8"));
  if (retired.length === 0) return [`${glossary}: has no table of retired words`];
  const used = new Set<AllowedUse>();
  const violations = files
    .filter((file) => !own_files.has(file))
    .flatMap((file) => {
      const lines = [file, ...readFileSync(join(root, file), "utf8").split("\n")];
      return lines.flatMap((line, number) =>
        retiredIn(retired, line)
          .filter(({ word }) => !isAllowed(allowed, used, { file, line, word }))
          .map(({ word, replacement }) =>
            number === 0
              ? `${file}: is named with "${word}"; say ${replacement}`
              : `${file}:${number}: says "${word}"; say ${replacement}`,
          ),
      );
    });
  const unused = allowed
    .filter((use) => !used.has(use))
    .map(({ word, where }) => `the allowed use of "${word}" (${String(where)}) covers nothing`);
  return [...violations, ...unused];
}

/** The rows `| \`word\` | replacement |` under the heading. */
function readRetiredWords(page: string): RetiredWord[] {
  const section = page.split(heading)[1] ?? "";
  return [...section.matchAll(/^\| `([^`]+)` \| (.+?) \|$/gm)].map(
    ([, word = "", replacement = ""]) => ({
      word,
      replacement,
      found: new RegExp(`\\b${inflections(word).replaceAll(" ", "\\s+")}\\b`),
    }),
  );
}

/** judge, judges, judged, judging; stop, stopped. Irregular forms have rows of their own. */
function inflections(word: string): string {
  if (word.includes(" ")) return word;
  const stem = word.replace(/e$/, "");
  return `(?:${word}s?|${stem}e[sd]|${stem}ing)`;
}

function retiredIn(retired: readonly RetiredWord[], line: string): readonly RetiredWord[] {
  const words = line
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/[_-]/g, " ")
    .toLowerCase();
  return retired.filter(({ found }) => found.test(words));
}

function isAllowed(
  allowed: readonly AllowedUse[],
  used: Set<AllowedUse>,
  at: { readonly file: string; readonly line: string; readonly word: string },
): boolean {
  const covering = allowed.filter(
    ({ word, where }) =>
      word === at.word &&
      (typeof where === "string" ? at.file.startsWith(where) : where.test(at.line)),
  );
  for (const use of covering) used.add(use);
  return covering.length > 0;
}
