// Validations that voice files, menus and AI agents share.
import { sql, type Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import type { FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";

export type Fields = Readonly<Record<string, unknown>>;

/** Returns the fields of a JSON object, or null for any other value. */
export function fieldsOf(value: unknown): Fields | null {
  const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
  return isObject ? (value as Fields) : null;
}

/** Reports whether a field has a value; null equals omitted. */
export function isGiven(fields: Fields, name: string): boolean {
  return Object.hasOwn(fields, name) && fields[name] !== null && fields[name] !== undefined;
}

/** Validates a transfer target beyond the schema. */
export function validateTransfer(at: string, to: unknown): FieldError[] {
  const fields = fieldsOf(to);
  if (!fields || isGiven(fields, "extension") !== isGiven(fields, "agent_group_id")) return [];
  return [{ field: at, reason: "must have either extension or agent_group_id" }];
}

/** A reference in a body to a resource of the account. */
export type Reference = {
  readonly field: string;
  readonly kind: "extension" | "agent_group" | "voice_file" | "menu" | "ai_agent";
  readonly value: unknown;
};

/** Returns the references of a transfer target. */
export function referencesOfTransfer(at: string, to: unknown): Reference[] {
  const { extension, agent_group_id } = fieldsOf(to) ?? {};
  return [
    { field: `${at}.extension`, kind: "extension", value: extension },
    { field: `${at}.agent_group_id`, kind: "agent_group", value: agent_group_id },
  ];
}

/** Returns a violation for each reference to a resource that the account does not have; malformed ids are skipped. */
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

/** Returns the referenced value as text, ids included. */
function valueOf({ value }: Reference): string {
  return typeof value === "number" ? String(knownId(value)) : String(value);
}

type Find = (db: Kysely<DB>, account_id: number, values: string[]) => Promise<string[]>;

const kinds: Readonly<Record<Reference["kind"], { find: Find; reason: string }>> = {
  extension: { find: findExtensions, reason: "is not an extension of this account" },
  agent_group: { find: idsOf("agent_groups"), reason: "is not an agent group of this account" },
  voice_file: {
    // A file with only a script, a menu or an AI agent is ready without audio.
    find: idsOf(
      "voice_files",
      sql`active and status <> 'rejected' and (audio_name is not null or status = 'processing')`,
    ),
    reason: "is not a voice file of this account with audio",
  },
  menu: { find: idsOf("voice_menus"), reason: "is not a menu of this account" },
  ai_agent: { find: idsOf("voice_ai_agents"), reason: "is not an AI agent of this account" },
};

function idsOf(
  table: "agent_groups" | "voice_files" | "voice_menus" | "voice_ai_agents",
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
