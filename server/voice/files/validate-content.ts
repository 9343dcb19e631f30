// What the validates of menus and AI agents have in common.
import { sql, type Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** The fields of an object of JSON, or null for anything else. */
export function fieldsOf(value: unknown): Fields | null {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Fields) : null;
}

/** Null equals omitted. */
export function isGiven(fields: Fields, name: string): boolean {
  return Object.hasOwn(fields, name) && fields[name] !== null && fields[name] !== undefined;
}

/** What a schema cannot see of a target of transfers. */
export function validateTransfer(at: string, to: unknown): FieldError[] {
  const fields = fieldsOf(to);
  if (!fields || isGiven(fields, "extension") !== isGiven(fields, "agent_group_id")) return [];
  return [{ field: at, reason: "must have one of extension and agent_group_id" }];
}

/** Something of the account's that a body names, and where. */
export type Reference = {
  readonly field: string;
  readonly kind: "extension" | "agent_group" | "voice_file" | "menu" | "ai_agent";
  readonly value: unknown;
};

/** The extension or agent group of a target. */
export function referencesOfTransfer(at: string, to: unknown): Reference[] {
  const { extension, agent_group_id } = fieldsOf(to) ?? {};
  return [
    { field: `${at}.extension`, kind: "extension", value: extension },
    { field: `${at}.agent_group_id`, kind: "agent_group", value: agent_group_id },
  ];
}

/** A violation for each reference to something that the account does not have; what is no id is not looked at. */
export async function validateReferences(
  db: Kysely<DB>,
  account_id: number,
  references: readonly Reference[],
): Promise<FieldError[]> {
  const byKind = Map.groupBy(references.filter(isNamed), ({ kind }) => kind);
  const violations = await Promise.all(
    [...byKind].map(async ([kind, named]) => {
      const { find, reason } = kinds[kind];
      const found = new Set(await find(db, account_id, [...new Set(named.map(valueOf))]));
      return named
        .filter((reference) => !found.has(valueOf(reference)))
        .map(({ field }) => ({ field, reason }));
    }),
  );
  return violations.flat();
}

function isNamed({ kind, value }: Reference): boolean {
  return kind === "extension" ? typeof value === "string" && value !== "" : Number.isInteger(value);
}

/** As it stands in the database: an id as text, too. */
function valueOf({ value }: Reference): string {
  return typeof value === "number" ? String(knownId(value)) : String(value);
}

type Find = (db: Kysely<DB>, account_id: number, values: string[]) => Promise<string[]>;

const kinds: Readonly<Record<Reference["kind"], { find: Find; reason: string }>> = {
  extension: { find: findExtensions, reason: "is no extension of this account" },
  agent_group: { find: idsOf("agent_groups"), reason: "is no agent group of this account" },
  voice_file: {
    find: idsOf("voice_files", sql`active and status <> 'rejected'`),
    reason: "is no voice file of this account",
  },
  menu: { find: idsOf("voice_menus"), reason: "is no menu of this account" },
  ai_agent: { find: idsOf("voice_agents"), reason: "is no AI agent of this account" },
};

function idsOf(
  table: "agent_groups" | "voice_files" | "voice_menus" | "voice_agents",
  usable = sql`true`,
): Find {
  return async (db, account_id, ids) => {
    const { rows } = await sql<{ id: number }>`
      select id from ${sql.table(table)}
      where account_id = ${account_id} and id = any (${ids}::bigint[]) and ${usable}`.execute(db);
    return rows.map(({ id }) => String(id));
  };
}

async function findExtensions(
  db: Kysely<DB>,
  account_id: number,
  extensions: string[],
): Promise<string[]> {
  const rows = await db
    .selectFrom("extensions")
    .select("extension")
    .where("account_id", "=", account_id)
    .where("extension", "in", extensions)
    .execute();
  return rows.map(({ extension }) => extension);
}
