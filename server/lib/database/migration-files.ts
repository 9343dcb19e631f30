// Reads the numbered migrations of a folder, and splits the SQL of one into statements.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

export type Migration = {
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /** Checksum of the file when it still defined functions, which now have their own files. */
  readonly former_checksum: string | undefined;
  /** Each statement runs in a transaction of its own, because the file's first line says so. */
  readonly per_statement: boolean;
  /** The newest migration of the oldest version that may run beside it, as a number; null if every version may. */
  readonly contract_since: string | null;
};

/** The first line of a migration whose statements run each in a transaction of its own. */
const per_statement_line = "-- transaction: per statement\n";

/** Reads the migrations of a folder, in order. */
export function readMigrations(dir: string): Migration[] {
  const former = JSON.parse(readFileSync(join(dir, "former-checksums.json"), "utf8")) as Record<
    string,
    string
  >;
  return migrationNames(dir).map((name) => {
    const sql = readFileSync(join(dir, name), "utf8");
    return {
      name,
      sql,
      checksum: checksumOf(sql),
      former_checksum: former[name],
      per_statement: isPerStatement(sql),
      contract_since: contractsSince(sql).toSorted().at(-1) ?? null,
    };
  });
}

/** Lists the file names of a folder's migrations, in order. */
export function migrationNames(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => /^\d{4}-[a-z0-9-]+\.sql$/.test(name))
    .toSorted();
}

/** Returns whether a migration declares that its statements run each in a transaction of its own. */
export function isPerStatement(sql: string): boolean {
  return sql.startsWith(per_statement_line);
}

/** Above a statement that takes away what the previous version used: the migration of the version that ended the use. */
const contract_marker = /--\s*contract since (\d{4}):\s*\S/g;

/** Returns the numbers of the migrations that the markers `-- contract since <number>: <reason>` of the SQL name. */
export function contractsSince(sql: string): string[] {
  return Array.from(sql.matchAll(contract_marker), ([, number]) => number!);
}

/** Returns the SHA-256 of a text in hexadecimal. */
export function checksumOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** A comment, a string, a quoted name or a dollar-quoted string; a semicolon in none of them ends a statement. */
const token = /(--[^\n]*|\/\*.*?\*\/)|'(?:[^']|'')*'|"[^"]*"|\$(\w*)\$.*?\$\2\$|(;)/gs;

/** Splits SQL into its statements, without comments. Strings with backslash escapes are not understood. */
export function splitStatements(sql: string): string[] {
  return sql
    .replaceAll(token, (text: string, comment?: string, _tag?: string, end?: string) =>
      comment === undefined ? (end === undefined ? text : "\0") : " ",
    )
    .split("\0")
    .map((statement) => statement.trim())
    .filter((statement) => statement !== "");
}
