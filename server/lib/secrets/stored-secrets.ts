// The columns that hold sealed secrets, and how all of their values are sealed or checked.
import type pg from "pg";
import type { Database } from "../database/database.ts";
import { sealed_prefix, SecretError, type SecretPlace, type Secrets } from "./secrets.ts";

type SecretColumn = {
  readonly table: string;
  readonly column: string;
  /** A row of the installation has no account; one without an ID has its account's. */
  readonly tenant: boolean;
  readonly id: "t.id" | "t.user_id" | "0::bigint";
  readonly type: "bytea" | "text";
};

const secret_columns: readonly SecretColumn[] = [
  { table: "callback_endpoints", column: "secret", tenant: true, id: "t.id", type: "bytea" },
  { table: "callback_endpoints", column: "old_secret", tenant: true, id: "t.id", type: "bytea" },
  ...["access_token", "app_secret", "verify_token"].map((column) => ({
    table: "whatsapp_credentials",
    column,
    tenant: true,
    id: "0::bigint" as const,
    type: "text" as const,
  })),
  { table: "user_totp", column: "secret", tenant: true, id: "t.user_id", type: "text" },
  { table: "voice_nodes", column: "ari_password", tenant: false, id: "t.id", type: "text" },
];

const batch_rows = 500;

/**
 * Seals every stored secret that is not sealed yet, or, with `reseal`, that another key than the current one
 * sealed; returns their number. Each value is a transaction, so it can be interrupted, repeated, and run by several
 * processes at once while the service runs. Throws SecretError if a value cannot be opened.
 */
export async function sealStoredSecrets(
  db: Database,
  secrets: Secrets,
  { reseal = false }: { reseal?: boolean } = {},
): Promise<number> {
  const sealed = reseal ? `${sealed_prefix}${secrets.currentKey()}:` : sealed_prefix;
  let count = 0;
  for (const column of secret_columns) {
    let after: Row | undefined = first;
    while (after) {
      const done = await sealBatch(db, secrets, column, after, sealed);
      count += done.count;
      after = done.last;
    }
  }
  return count;
}

type Row = { readonly account_id: number; readonly id: number; readonly stored: Buffer | string };
const first: Row = { account_id: 0, id: -1, stored: "" };

/** Seals the next values, each in a statement of its own, which also runs on a distributed database. */
async function sealBatch(
  { pool }: Database,
  secrets: Secrets,
  shape: SecretColumn,
  after: Row,
  sealed: string,
): Promise<{ count: number; last: Row | undefined }> {
  const { table, column, tenant, id, type } = shape;
  const rows = await readBatch(pool, shape, after, sealed);
  let count = 0;
  for (const row of rows) {
    const place = placeOf(shape, row);
    const value = secrets.seal(place, secrets.open(place, row.stored));
    // A value that was replaced meanwhile was sealed by its writer.
    const { rowCount } = await pool.query(
      `update ${table} t set ${column} = ${type === "bytea" ? "convert_to($3::text, 'UTF8')" : "$3::text"}
       where ${tenant ? "t.account_id" : "0::bigint"} = $1::bigint and ${id} = $2::bigint and t.${column} = $4::${type}`,
      [row.account_id, row.id, value, row.stored],
    );
    count += rowCount ?? 0;
  }
  return { count, last: rows.at(-1) };
}

/** Reads the next values in the order of their keys, without those that begin with `except`, unless that is "". */
async function readBatch(
  db: Pick<pg.ClientBase, "query">,
  { table, column, tenant, id, type }: SecretColumn,
  after: Row,
  except: string,
): Promise<Row[]> {
  const account = tenant ? "t.account_id" : "0::bigint";
  const { rows } = await db.query<Row>(
    `select ${account} as account_id, ${id} as id, t.${column} as stored from ${table} t
     where t.${column} is not null and ($1 = '' or not starts_with(${textOf(column, type)}, $1))
       and (${account}, ${id}) > ($2::bigint, $3::bigint)
     order by account_id, id limit ${batch_rows}`,
    [except, after.account_id, after.id],
  );
  return rows;
}

function placeOf({ table, column }: SecretColumn, { account_id, id }: Row): SecretPlace {
  return { column: `${table}.${column}`, account_id, id };
}

/** Sealed values are ASCII, which `escape` does not change. */
function textOf(column: string, type: SecretColumn["type"]): string {
  return type === "bytea" ? `encode(t.${column}, 'escape')` : `t.${column}`;
}

/** The number of a column's stored secrets by the key that sealed them; `key` is null where none did. */
export type SecretCount = {
  readonly column: string;
  readonly key: string | null;
  readonly count: number;
};

/** Counts the stored secrets by column and key. */
export async function countStoredSecrets(db: Database): Promise<SecretCount[]> {
  const counts: SecretCount[] = [];
  for (const { table, column, type } of secret_columns) {
    const text = textOf(column, type);
    const { rows } = await db.pool.query<{ key: string | null; count: number }>(
      `select case when starts_with(${text}, $1) then split_part(${text}, ':', 3) end as key,
         count(*)::int as count
       from ${table} t where t.${column} is not null group by 1 order by 1`,
      [sealed_prefix],
    );
    counts.push(...rows.map((row) => ({ column: `${table}.${column}`, ...row })));
  }
  return counts;
}

const problems_max = 20;

/** Opens every stored secret and describes those that no key opens or that are not sealed, 20 at most. */
export async function findClosedSecrets(db: Database, secrets: Secrets): Promise<string[]> {
  const problems: string[] = [];
  for (const column of secret_columns) {
    let after: Row | undefined = first;
    while (after && problems.length < problems_max) {
      const rows: Row[] = await readBatch(db.pool, column, after, "");
      for (const row of rows) {
        const problem = problemOf(secrets, column, row);
        if (problem !== null) problems.push(problem);
      }
      after = rows.at(-1);
    }
  }
  return problems.slice(0, problems_max);
}

function problemOf(secrets: Secrets, column: SecretColumn, row: Row): string | null {
  const place = placeOf(column, row);
  if (!row.stored.toString().startsWith(sealed_prefix))
    return `${place.column} of ID ${row.id} is not sealed; run: trunkline secrets rotate`;
  try {
    secrets.open(place, row.stored);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

/** Throws SecretError if a stored secret is sealed with a key that is not present. */
export async function requireKeys(db: Database, secrets: Secrets): Promise<void> {
  const counts = await countStoredSecrets(db);
  const lost = counts.filter(({ key }) => key !== null && !secrets.hasKey(key));
  if (lost.length === 0) return;
  const listed = lost.map(({ column, key, count }) => `${count} of ${column} (key ${key})`);
  throw new SecretError(
    `TRUNKLINE_SECRET_KEY: no key opens these stored secrets: ${listed.join(", ")}; restore the key that sealed them, also as a further key after the current one`,
  );
}

/** A secret of an account in plain, to be sealed with another installation's key. */
export type OpenedSecret = {
  /** `table.column`. */
  readonly column: string;
  readonly id: number;
  /** In base64. */
  readonly plain: string;
};

/** Opens every stored secret of an account. Throws SecretError if no key opens one. */
export async function openAccountSecrets(
  db: Pick<pg.ClientBase, "query">,
  secrets: Secrets,
  account_id: number,
): Promise<OpenedSecret[]> {
  const opened: OpenedSecret[] = [];
  for (const { shape, row } of await readAccountSecrets(db, account_id)) {
    const place = placeOf(shape, row);
    const plain = secrets.open(place, row.stored).toString("base64");
    opened.push({ column: place.column, id: place.id, plain });
  }
  return opened;
}

async function readAccountSecrets(
  db: Pick<pg.ClientBase, "query">,
  account_id: number,
): Promise<{ shape: SecretColumn; row: Row }[]> {
  const found: { shape: SecretColumn; row: Row }[] = [];
  for (const shape of secret_columns.filter(({ tenant }) => tenant)) {
    const { table, column, id } = shape;
    const { rows } = await db.query<{ account: string; id: string; stored: Buffer | string }>(
      `select t.account_id::text as account, ${id}::text as id, t.${column} as stored from ${table} t
       where t.account_id = $1 and t.${column} is not null order by 2`,
      [account_id],
    );
    for (const row of rows)
      found.push({
        shape,
        row: { account_id: Number(row.account), id: Number(row.id), stored: row.stored },
      });
  }
  return found;
}

/**
 * Seals an account's secrets with the current key, in place of what its rows have. Throws SecretError if a row has
 * another secret that is not sealed or that no key opens: with an unknown key, no process would start.
 */
export async function storeAccountSecrets(
  db: Pick<pg.ClientBase, "query">,
  secrets: Secrets,
  account_id: number,
  opened: readonly OpenedSecret[],
): Promise<void> {
  for (const { column: name, id: row_id, plain } of opened) {
    const shape = secret_columns.find(({ table, column }) => name === `${table}.${column}`);
    if (!shape?.tenant) throw new Error(`${name} is not a column of an account's secrets`);
    const { table, column, id, type } = shape;
    const place = placeOf(shape, { account_id, id: row_id, stored: "" });
    const value = secrets.seal(place, Buffer.from(plain, "base64"));
    await db.query(
      `update ${table} t set ${column} = ${type === "bytea" ? "convert_to($3, 'UTF8')" : "$3"}
       where t.account_id = $1 and ${id} = $2`,
      [account_id, row_id, value],
    );
  }
  for (const { shape, row } of await readAccountSecrets(db, account_id)) {
    const place = placeOf(shape, row);
    if (!row.stored.toString().startsWith(sealed_prefix))
      throw new SecretError(`${place.column} of ID ${row.id} is not sealed`);
    secrets.open(place, row.stored);
  }
}
