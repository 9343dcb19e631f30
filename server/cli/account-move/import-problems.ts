// Finds what stands against the import of an account, all at once.
import type { ArchiveHeader, NamedId } from "./archive-records.ts";
import {
  movedTables,
  readColumns,
  readSchema,
  type Client,
  type InstallationTable,
} from "./moved-tables.ts";

/** For each node or trunk of the file, the one of this installation that takes its place. */
export type Places = Readonly<Record<InstallationTable, ReadonlyMap<number, number>>>;

/** Describes each problem, and what to do about it. */
export async function findImportProblems(
  client: Client,
  header: ArchiveHeader,
  places: Places,
): Promise<string[]> {
  const problems = await schemaProblems(client, header);
  // Without the same tables, nothing else can be compared.
  if (problems.length > 0) return problems;
  return [
    ...frozenProblems(header),
    ...(await accountProblems(client, header)),
    ...(await takenProblems(client, header)),
    ...(await placeProblems(client, "nodes", header.nodes, places.nodes)),
    ...(await placeProblems(client, "trunks", header.trunks, places.trunks)),
  ];
}

async function schemaProblems(client: Client, header: ArchiveHeader): Promise<string[]> {
  const schema = await readSchema(client);
  if (schema !== header.schema) {
    return [
      `The account was exported at the schema ${header.schema} (version ${header.product_version}), and this installation has ${schema}: upgrade the older one to the version of the other, and export again`,
    ];
  }
  const names = movedTables();
  const columns = await readColumns(client, names);
  const isSame =
    header.tables.length === names.length &&
    // A table that occurs twice would hide rows of another account from the count of rows.
    new Set(header.tables.map(({ name }) => name)).size === names.length &&
    header.tables.every(
      ({ name, columns: of }) => columns.get(name)?.toSorted().join() === of.toSorted().join(),
    );
  if (isSame) return [];
  return [
    "The tables of the file are not those of this installation: use the same version in both",
  ];
}

function frozenProblems({ frozen, account_id }: ArchiveHeader): string[] {
  if (frozen) return [];
  return [
    `The account was active when it was exported, so both installations would send its messages: export it with trunkline account export ${account_id} --freeze`,
  ];
}

async function accountProblems(client: Client, { account_id }: ArchiveHeader): Promise<string[]> {
  const { rows } = await client.query<{ name: string }>(
    "select name from accounts where account_id = $1",
    [account_id],
  );
  if (rows.length === 0) return [];
  return [
    `Account ${account_id} exists here, as "${rows[0]!.name}": an account keeps its ID, which its tokens and customers have, so import it into an installation that does not use the ID`,
  ];
}

/** Sorted so that a business account follows its numbers: its command would take them, too. */
async function takenProblems(
  client: Client,
  { account_id, chat_routes, phone_numbers }: ArchiveHeader,
): Promise<string[]> {
  const { rows } = await client.query<{ what: string; account_id: string; command: string }>(
    `select 'The phone number ' || number as what, account_id::text,
       'number remove ' || number || ' --account <the operator''s own>' as command
     from phone_numbers where number = any ($1)
     union all
     select 'The WhatsApp ' || replace(kind, '_', ' ') || ' ' || provider_id, account_id::text,
       'whatsapp unbind ' || account_id || ' ' || provider_id from chat_routes
     where driver || ':' || kind || ':' || provider_id = any ($2)
     order by 1 desc`,
    [phone_numbers, chat_routes],
  );
  return rows
    .filter((row) => Number(row.account_id) !== account_id)
    .map(
      ({ what, account_id: owner, command }) =>
        `${what} belongs to account ${owner} here: remove it there first, with trunkline ${command}`,
    );
}

const kinds = {
  nodes: { table: "voice_nodes", one: "Node" },
  trunks: { table: "trunks", one: "Trunk" },
} as const;

async function placeProblems(
  client: Client,
  kind: InstallationTable,
  used: readonly NamedId[],
  places: ReadonlyMap<number, number>,
): Promise<string[]> {
  const { table, one } = kinds[kind];
  const { rows } = await client.query<{ id: string; name: string }>(
    `select id::text as id, name from ${table} order by id`,
  );
  const here = new Set(rows.map(({ id }) => Number(id)));
  const list = rows.map(({ id, name }) => `${id} "${name}"`).join(", ") || "none";
  return used.flatMap(({ id, name }) => {
    const place = places.get(id);
    const spelt = `${one} ${id}, ${name === "" ? "deleted there" : `"${name}" there`},`;
    if (place === undefined)
      return [`${spelt} needs one here: --${kind} ${id}=<id>; this installation has: ${list}`];
    if (here.has(place)) return [];
    return [`${spelt} cannot become ${place}, which does not exist here; there are: ${list}`];
  });
}
