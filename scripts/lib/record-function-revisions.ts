import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { migrationNames } from "../../server/lib/database/migration-files.ts";
import { readFunctions, readRevisions } from "../../server/lib/database/sql-functions.ts";

/**
 * Gives each changed SQL function its next revision in migrations/functions.json; with `check`, writes nothing.
 * Returns false if the file was out of date and still is. Throws if a function without a file was not dropped.
 */
export function recordFunctionRevisions(
  migrations_dir: string,
  { check }: { check: boolean },
): boolean {
  const recorded = readRevisions(migrations_dir);
  const current = Object.fromEntries(
    readFunctions(migrations_dir).map(({ name, checksum }) => {
      const before = recorded[name];
      if (before?.checksum === checksum) return [name, before];
      return [name, { revision: (before?.revision ?? 0) + 1, checksum }];
    }),
  );
  for (const name of Object.keys(recorded))
    if (!(name in current)) requireDropped(migrations_dir, name);
  if (JSON.stringify(current) === JSON.stringify(recorded)) return true;
  if (check) {
    console.error("migrations/functions.json is out of date; run: npm run db:types");
    return false;
  }
  writeFileSync(join(migrations_dir, "functions.json"), `${JSON.stringify(current, null, 2)}\n`);
  return true;
}

/** Otherwise existing databases would keep the function. */
function requireDropped(migrations_dir: string, name: string): void {
  const drops = new RegExp(`\\bdrop\\s+function\\s+(?:if\\s+exists\\s+)?${name}\\b`, "i");
  const isDropped = migrationNames(migrations_dir).some((file) =>
    drops.test(readFileSync(join(migrations_dir, file), "utf8")),
  );
  if (!isDropped)
    throw new Error(`function ${name} has no file: drop it in a numbered migration, too`);
}
