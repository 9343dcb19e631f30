// Finds a person's identities in every column of the database that can hold them.
import type pg from "pg";
import { phoneSpellings } from "../../server/lib/phone-key.ts";

/** Returns the columns that can hold text, as `table.column`. */
export async function textColumns(pool: pg.Pool): Promise<readonly string[]> {
  return (await readColumns(pool)).flatMap(({ table, columns }) =>
    columns.map((column) => `${table}.${column}`),
  );
}

type Columns = { readonly table: string; readonly columns: string[]; readonly bytes: string[] };

async function readColumns(pool: pg.Pool): Promise<readonly Columns[]> {
  const { rows } = await pool.query<Columns>(`
    select c.table_name as "table", array_agg(c.column_name::text order by c.column_name) as columns,
      coalesce(array_agg(c.column_name::text) filter (where c.data_type = 'bytea'), '{}') as bytes
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
      and c.data_type not in ('bigint', 'integer', 'smallint', 'numeric', 'double precision', 'real', 'boolean', 'uuid',
        'date', 'interval', 'timestamp with time zone', 'time without time zone')
      and c.udt_name not in ('_int4', '_int8')
    group by c.table_name order by c.table_name`);
  return rows;
}

/** Base64 encodes three bytes at a time: the first nine digits have the same text wherever a group begins. */
const base64_characters = 9;

/** Returns a message ID like WhatsApp's, which contains the recipient's number in base64. */
export function wamid(phone: string, id: string | number): string {
  const parts = [
    `\x1c\x18${String.fromCharCode(phone.length)}${phone}`,
    `\x15\x02\0\x11\x18${id}\0`,
  ];
  return `wamid.${Buffer.from(parts.join(""), "latin1").toString("base64")}`;
}

/**
 * Counts the values that contain a phone number, in any spelling, with or without its calling code or encoded in a
 * message ID, or another text, such as a WhatsApp user ID; by `table.column`, over all accounts.
 */
export async function identityTraces(
  pool: pg.Pool,
  phone: string,
  others: readonly string[] = [],
): Promise<Record<string, number>> {
  const needles = phoneSpellings(phone).flatMap((spelling) => [
    spelling.slice(-10),
    Buffer.from(spelling.slice(0, base64_characters)).toString("base64"),
  ]);
  const found: Record<string, number> = {};
  for (const { table, columns, bytes } of await readColumns(pool)) {
    const counts = columns.map((column) => {
      const text = bytes.includes(column)
        ? `encode(t."${column}", 'escape')`
        : `t."${column}"::text`;
      return `count(*) filter (where ${text} like any ($1)
        or regexp_replace(${text}, '[^0-9]', '', 'g') like any ($2))::int as "${column}"`;
    });
    const { rows } = await pool.query<Record<string, number>>(
      `select ${counts.join(", ")} from ${table} t`,
      [
        [...needles, ...others].map((needle) => `%${needle}%`),
        phoneSpellings(phone).map((spelling) => `%${spelling}%`),
      ],
    );
    for (const [column, count] of Object.entries(rows[0]!))
      if (count > 0) found[`${table}.${column}`] = count;
  }
  return found;
}
