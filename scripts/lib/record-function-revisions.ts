import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readFunctions, readRevisions } from "../../server/lib/database/sql-functions.ts";

/**
 * Gives each changed SQL function its next revision in migrations/functions.json; with `check`, writes nothing.
 * Returns false if the file was out of date and still is.
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
  if (JSON.stringify(current) === JSON.stringify(recorded)) return true;
  if (check) {
    console.error("migrations/functions.json is out of date; run: npm run db:types");
    return false;
  }
  writeFileSync(join(migrations_dir, "functions.json"), `${JSON.stringify(current, null, 2)}\n`);
  return true;
}
