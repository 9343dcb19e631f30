// Stores an exported account: in one transaction, so that all of it is stored or nothing.
import { createHash } from "node:crypto";
import { pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { copyLines } from "../../lib/csv/copy-lines.ts";
import { clientTransaction } from "../../lib/database/client-transaction.ts";
import type { Database } from "../../lib/database/database.ts";
import { storeAccountSecrets } from "../../lib/secrets/stored-secrets.ts";
import { SecretError, type Secrets } from "../../lib/secrets/secrets.ts";
import { onOneLine } from "../printable.ts";
import { readBindings, type AccountBindings } from "./account-bindings.ts";
import { ArchiveError, openArchive } from "./archive-cipher.ts";
import {
  readRecords,
  type ArchiveHeader,
  type ArchiveRecords,
  type TableHeader,
} from "./archive-records.ts";
import { findImportProblems, type Places } from "./import-problems.ts";
import { columnList, installation_columns, type Client } from "./moved-tables.ts";
import {
  readOperatorSettings,
  removeOperator,
  type OperatorSettings,
} from "./operator-settings.ts";
import { releaseLeases } from "./release-leases.ts";

export type Archive = {
  readonly header: ArchiveHeader;
  /** The records after the header. */
  readonly records: ArchiveRecords;
};

/** Opens the file of an exported account. Throws ArchiveError if it is not one, or the passphrase is another. */
export async function readArchive(source: Readable, passphrase: string): Promise<Archive> {
  const zipped = Readable.from(openArchive(passphrase)(source));
  const unzip = createGunzip();
  // An error of any part ends the reading below.
  pipeline(zipped, unzip, () => {});
  const records = readRecords(unzip);
  const { value: first } = await records.next();
  if (first?.kind !== "header") throw new ArchiveError("The file does not begin with a header");
  return { header: first.header, records };
}

/** Reads the whole file and throws ArchiveError unless all of it is as it was written. */
export async function verifyArchive({ header, records }: Archive): Promise<void> {
  for (const table of header.tables)
    for await (const bytes of readTable(records, table)) void bytes;
  await refuseMore(records);
}

/** Yields the rows of the next table, and then throws ArchiveError unless they are those that were written. */
async function* readTable(records: ArchiveRecords, table: TableHeader): AsyncGenerator<Buffer> {
  const { value: begin } = await records.next();
  if (begin?.kind !== "table" || begin.name !== table.name)
    throw new ArchiveError(`The file does not contain the table ${table.name} in its place`);
  const hash = createHash("sha256");
  for (;;) {
    const { value: record } = await records.next();
    if (record?.kind === "rows") {
      hash.update(record.bytes);
      yield record.bytes;
      continue;
    }
    const isWhole =
      record?.kind === "table_end" &&
      record.end.sha256 === hash.digest("hex") &&
      record.end.rows === table.rows;
    if (isWhole) return;
    throw new ArchiveError(
      `The rows of ${table.name} in the file are not those that were exported`,
    );
  }
}

async function refuseMore(records: ArchiveRecords): Promise<void> {
  if (!(await records.next()).done)
    throw new ArchiveError("The file contains more than an account");
}

export type Import = {
  readonly archive: Archive;
  readonly places: Places;
  /** Whether it keeps the feature `operator`. */
  readonly keeps_operator: boolean;
  readonly secrets: Secrets;
  readonly actor: Actor;
  readonly now: Date;
};

/** Statements that last as long as a table. */
const statement_seconds = 86_400;

export type Imported = {
  /** Those of the file. */
  readonly settings: OperatorSettings;
  readonly bindings: AccountBindings;
  /** The extensions that have lost an endpoint of an operator. */
  readonly extensions: readonly string[];
};

/** Stores the account, frozen. Throws an Error that lists every problem, and stores nothing then. */
export async function importAccount(db: Database, given: Import): Promise<Imported> {
  const { header, records } = given.archive;
  const { account_id } = header;
  return clientTransaction(db, statement_seconds, async (tx, client) => {
    const run: Client["query"] = client.query.bind(client);
    const slow = ((text: string, values?: unknown[]) =>
      run({ text, values, query_timeout: statement_seconds * 1_000 } as never)) as never;
    const slowly: Client = { query: slow };
    // The file may come slowly through a pipe.
    await client.query("set local idle_in_transaction_session_timeout = 0");
    const problems = await findImportProblems(slowly, header, given.places);
    if (problems.length > 0) throw new Error(problems.map(onOneLine).join("\n"));
    for (const table of header.tables) {
      const target = await targetOf(slowly, table, given.places);
      const copy = `copy ${target.copied} (${columnList(table.columns)}) from stdin`;
      const copied = await copyLines(client, copy, readTable(records, table), statement_seconds);
      requireRows(table, copied, "are in the file");
      await target.finish();
      requireRows(
        table,
        await countRows(slowly, account_id, table),
        `belong to account ${account_id} now`,
      );
      await requirePlaces(slowly, account_id, table, given.places);
    }
    await refuseMore(records);
    await requireFrozen(slowly, account_id);
    await keepRecordings(slowly, account_id);
    await releaseLeases(slowly, account_id);
    await storeAccountSecrets(slowly, given.secrets, account_id, header.secrets).catch(
      refuseSecrets,
    );
    await advanceIds(slowly, header);
    // Of the stored rows, not of the header, which may say something else.
    const settings = await readOperatorSettings(slowly, account_id);
    const bindings = await readBindings(slowly, account_id);
    const keepsIt = given.keeps_operator && settings.features.includes("operator");
    const extensions = keepsIt ? [] : await removeOperator(slowly, account_id);
    const { product_version, exported_at } = header;
    const { actor, now, keeps_operator } = given;
    const detail = { product_version, exported_at, keeps_operator };
    await recordAudit(tx, actor, {
      at: now,
      action: "account.imported",
      subject_id: account_id,
      detail,
    });
    return { settings, bindings, extensions };
  });
}

type Target = {
  readonly copied: string;
  finish(): Promise<void>;
};

/** The table to copy rows to: a temporary one, if they name nodes or trunks that have another ID here. */
async function targetOf(client: Client, table: TableHeader, places: Places): Promise<Target> {
  const { name, columns } = table;
  const changes = (["nodes", "trunks"] as const).filter(
    (kind) =>
      columns.includes(installation_columns[kind]) &&
      [...places[kind]].some(([from, to]) => from !== to),
  );
  if (changes.length === 0) return { copied: name, finish: async () => {} };
  const copied = `moved_${name}`;
  await client.query(`create temporary table ${copied} (like ${name}) on commit drop`);
  const selected = columns.map((column) => {
    const kind = changes.find((change) => installation_columns[change] === column);
    if (!kind) return `m."${column}"`;
    const cases = [...places[kind]].map(([from, to]) => `when ${from} then ${to}`);
    return `case m.${column} ${cases.join(" ")} else m.${column} end`;
  });
  return {
    copied,
    finish: async () => {
      await client.query(
        `insert into ${name} (${columnList(columns)}) select ${selected.join(", ")} from ${copied} m`,
      );
    },
  };
}

/** Throws ArchiveError unless the rows are as many as were exported. */
function requireRows({ name, rows }: TableHeader, count: number, verb: string): void {
  if (count === rows) return;
  throw new ArchiveError(`${count} rows of ${name} ${verb}, and ${rows} were exported`);
}

/** Counts the account's rows. If all that were copied are the account's, none is stored for another account. */
async function countRows(client: Client, account_id: number, { name }: TableHeader) {
  const { rows } = await client.query<{ count: string }>(
    `select count(*)::text as count from ${name} where account_id = $1`,
    [account_id],
  );
  return Number(rows[0]!.count);
}

/** Throws ArchiveError unless the rows name only nodes and trunks that were chosen, whatever the header lists. */
async function requirePlaces(
  client: Client,
  account_id: number,
  { name, columns }: TableHeader,
  places: Places,
): Promise<void> {
  for (const kind of ["nodes", "trunks"] as const) {
    const column = installation_columns[kind];
    if (!columns.includes(column)) continue;
    const { rows } = await client.query<{ id: string }>(
      `select ${column}::text as id from ${name} where account_id = $1 and ${column} <> all ($2::bigint[]) limit 1`,
      [account_id, [...places[kind].values()]],
    );
    if (rows.length > 0)
      throw new ArchiveError(
        `The rows of ${name} contain the ${column} ${rows[0]!.id}, which is not one of those that --${kind} chose`,
      );
  }
}

/** Throws ArchiveError unless the stored account is frozen, whatever the header says. */
async function requireFrozen(client: Client, account_id: number): Promise<void> {
  const { rows } = await client.query(
    "select from accounts where account_id = $1 and frozen_at is not null",
    [account_id],
  );
  if (rows.length === 0)
    throw new ArchiveError(
      "The account is active in its row, but frozen in the header: export it again",
    );
}

function refuseSecrets(error: unknown): never {
  if (!(error instanceof SecretError)) throw error;
  throw new ArchiveError(`The header lacks a secret that the rows contain: ${error.message}`);
}

/**
 * Makes the account's recordings due for retention only once it is activated: until they are copied, its node does not
 * have them, and they would be recorded as deleted.
 */
async function keepRecordings(client: Client, account_id: number): Promise<void> {
  await client.query(
    `update accounts set recordings_due_at = 'infinity', recordings_overdue_since = null where account_id = $1`,
    [account_id],
  );
}

/** Beyond what other accounts may draw between the two steps: the identity is never set back. */
const ids_margin = 1_000;
/** Half of the integers that a number of JSON represents exactly: as many are left for new rows. */
const last_id_max = 2 ** 52;

/**
 * Sets each identity past the IDs that the other installation has given: new rows are the last of their lists. Throws
 * ArchiveError if the file names another table or an ID out of range.
 */
async function advanceIds(client: Client, { last_ids, tables }: ArchiveHeader): Promise<void> {
  const with_ids = new Set(
    tables.filter(({ columns }) => columns.includes("id")).map(({ name }) => name),
  );
  for (const [table, id] of Object.entries(last_ids))
    if (!with_ids.has(table) || !Number.isSafeInteger(id) || id < 0 || id > last_id_max)
      throw new ArchiveError(`The file contains an invalid last ID of the table ${table}`);
  const { rows } = await client.query<{ table: string; sequence: string; last: string }>(
    `select t.name as table, pg_get_serial_sequence(t.name, 'id') as sequence, coalesce(s.last_value, 0)::text as last
     from unnest($1::text[]) t (name)
     join pg_sequences s on format('%I.%I', s.schemaname, s.sequencename) = pg_get_serial_sequence(t.name, 'id')`,
    [Object.keys(last_ids)],
  );
  for (const { table, sequence, last } of rows) {
    const given = last_ids[table]!;
    if (given > Number(last))
      await client.query("select setval($1, $2)", [sequence, given + ids_margin]);
  }
}
