// Writes an account to a file: one snapshot of the database, streamed by COPY, so that memory does not grow with it.
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGzip } from "node:zlib";
import type pg from "pg";
import { to as copyTo } from "pg-copy-streams";
import { openAccountSecrets } from "../../lib/secrets/stored-secrets.ts";
import type { Secrets } from "../../lib/secrets/secrets.ts";
import { readBindings } from "./account-bindings.ts";
import { sealArchive } from "./archive-cipher.ts";
import { encodeRecord, type ArchiveHeader, type NamedId } from "./archive-records.ts";
import {
  columnList,
  installation_columns,
  movedTables,
  productVersion,
  readColumns,
  readSchema,
  type InstallationTable,
} from "./moved-tables.ts";
import { readOperatorSettings } from "./operator-settings.ts";

export type Export = {
  readonly account_id: number;
  readonly now: Date;
  /** The freeze for which the account was drained; null for an active account. */
  readonly frozen_at: Date | null;
  readonly secrets: Secrets;
  readonly passphrase: string;
  readonly output: Writable;
};

/**
 * Exports an account in one transaction of the client, and returns the header of the file. Throws an Error, before it
 * writes anything, if the account was unfrozen or frozen meanwhile.
 */
export async function exportAccount(client: pg.ClientBase, to: Export): Promise<ArchiveHeader> {
  await client.query("begin isolation level repeatable read read only");
  try {
    // A table may take hours, and a pipe behind standard output may be slow.
    await client.query("set local statement_timeout = 0");
    await client.query("set local idle_in_transaction_session_timeout = 0");
    const header = await readHeader(client, to);
    await pipeline(
      encodeAccount(client, header),
      createGzip({ level: 1 }),
      sealArchive(to.passphrase),
      to.output,
    );
    return header;
  } finally {
    await client.query("rollback");
  }
}

async function* encodeAccount(
  client: pg.ClientBase,
  header: ArchiveHeader,
): AsyncGenerator<Buffer> {
  yield encodeRecord({ kind: "header", header });
  for (const { name, columns } of header.tables) {
    yield encodeRecord({ kind: "table", name });
    const selected = `select ${columnList(columns)} from ${name} where account_id = ${header.account_id}`;
    const output = client.query(copyTo(`copy (${selected}) to stdout`));
    const hash = createHash("sha256");
    for await (const bytes of output as AsyncIterable<Buffer>) {
      hash.update(bytes);
      yield encodeRecord({ kind: "rows", bytes });
    }
    if (!output.closed) await once(output, "close");
    const end = { rows: output.rowCount, sha256: hash.digest("hex") };
    yield encodeRecord({ kind: "table_end", end });
  }
}

async function readHeader(
  client: pg.ClientBase,
  { account_id, now, frozen_at, secrets }: Export,
): Promise<ArchiveHeader> {
  const account = await readAccount(client, account_id);
  if (account.frozen_at?.getTime() !== frozen_at?.getTime())
    throw new Error(
      `Account ${account_id} was ${account.frozen_at ? "frozen" : "unfrozen"} during the export; export it again`,
    );
  const names = movedTables();
  const columns = await readColumns(client, names);
  const tables = [];
  for (const name of names) {
    const { rows } = await client.query<{ count: string }>(
      `select count(*)::text as count from ${name} where account_id = $1`,
      [account_id],
    );
    tables.push({ name, columns: columns.get(name)!, rows: Number(rows[0]!.count) });
  }
  const texts = async (query: string) =>
    (await client.query<{ text: string }>(query, [account_id])).rows.map(({ text }) => text);
  return {
    product_version: productVersion(),
    schema: await readSchema(client),
    account_id,
    account_name: account.name,
    exported_at: now.toISOString(),
    frozen: account.frozen_at !== null,
    operator_settings: await readOperatorSettings(client, account_id),
    bindings: await readBindings(client, account_id),
    tables,
    last_ids: await readLastIds(client, names),
    secrets: await openAccountSecrets(client, secrets, account_id),
    nodes: await namedBy(client, columns, account_id, "nodes"),
    trunks: await namedBy(client, columns, account_id, "trunks"),
    chat_routes: await texts(
      `select driver || ':' || kind || ':' || provider_id as text from chat_routes where account_id = $1 order by 1`,
    ),
    phone_numbers: await texts(
      "select number as text from phone_numbers where account_id = $1 order by 1",
    ),
  };
}

async function readAccount(client: pg.ClientBase, account_id: number) {
  const { rows } = await client.query<{ name: string; frozen_at: Date | null }>(
    "select name, frozen_at from accounts where account_id = $1",
    [account_id],
  );
  return rows[0]!;
}

/** The account's own ID is kept, and does not advance the identity of another installation. */
async function readLastIds(
  client: pg.ClientBase,
  tables: readonly string[],
): Promise<Record<string, number>> {
  const { rows } = await client.query<{ table: string; last: string }>(
    `select c.table_name::text as table, coalesce(s.last_value, 0)::text as last
     from information_schema.columns c
     join pg_sequences s on format('%I.%I', s.schemaname, s.sequencename)
       = pg_get_serial_sequence(c.table_name, c.column_name)
     where c.table_schema = current_schema() and c.is_identity = 'YES' and c.column_name = 'id'
       and c.table_name = any ($1) order by 1`,
    [tables],
  );
  return Object.fromEntries(rows.map(({ table, last }) => [table, Number(last)]));
}

const installation_tables = { nodes: "voice_nodes", trunks: "trunks" } as const;

/** The nodes or trunks that the account's rows name; the name is "" for one that was deleted. */
async function namedBy(
  client: pg.ClientBase,
  columns: ReadonlyMap<string, readonly string[]>,
  account_id: number,
  kind: InstallationTable,
): Promise<NamedId[]> {
  const column = installation_columns[kind];
  const naming = [...columns].filter(([, of]) => of.includes(column)).map(([table]) => table);
  const ids = naming.map((table) => `select ${column} as id from ${table} where account_id = $1`);
  const { rows } = await client.query<{ id: string; name: string }>(
    `select i.id::text as id, coalesce(n.name, '') as name from (${ids.join(" union ")}) i
     left join ${installation_tables[kind]} n on n.id = i.id
     where i.id is not null order by i.id`,
    [account_id],
  );
  return rows.map(({ id, name }) => ({ id: Number(id), name }));
}
