// The tables that move with an account: every tenant table of the manifest, in its order, which is that of references,
// and the rows of the reference tables that are an account's own.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type pg from "pg";
import { install_dir } from "../../lib/installation/install-dir.ts";

export type Client = Pick<pg.ClientBase, "query">;

const migrations_dir = join(install_dir, "migrations");

/** Each row of these belongs to an account. The other reference tables belong to the installation. */
const own_reference_tables = ["sign_in_emails", "chat_routes", "phone_numbers"] as const;

/** Lists the tables that move. */
export function movedTables(): string[] {
  const manifest = JSON.parse(readFileSync(join(migrations_dir, "tables.json"), "utf8")) as Record<
    string,
    string
  >;
  const tenant = Object.keys(manifest).filter((table) => manifest[table] === "tenant");
  return [...tenant, ...own_reference_tables];
}

/** The columns of the moved tables that name a node or a trunk of the installation. */
export const installation_columns = { nodes: "node_id", trunks: "trunk_id" } as const;
export type InstallationTable = keyof typeof installation_columns;

/** Reads the columns of each table in their order, without generated ones. */
export async function readColumns(
  client: Client,
  tables: readonly string[],
): Promise<Map<string, string[]>> {
  const { rows } = await client.query<{ name: string; columns: string[] }>(
    `select table_name::text as name, array_agg(column_name::text order by ordinal_position) as columns
     from information_schema.columns
     where table_schema = current_schema() and table_name = any ($1) and is_generated = 'NEVER'
     group by 1`,
    [tables],
  );
  return new Map(rows.map(({ name, columns }) => [name, columns]));
}

/** Returns the newest migration of the database. */
export async function readSchema(client: Client): Promise<string> {
  const { rows } = await client.query<{ name: string }>(
    "select name from migrations order by name desc limit 1",
  );
  return rows[0]!.name;
}

/** Reads this version's name of the product. */
export function productVersion(): string {
  const text = readFileSync(join(install_dir, "package.json"), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** Quotes column names for a statement. */
export function columnList(columns: readonly string[]): string {
  return columns.map((column) => `"${column}"`).join(", ");
}
