import { sql } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, type FieldError } from "../../lib/errors.ts";
import { members_added_max, type AddedMembers, type NewMembers } from "./group-schema.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import { phone_reason, readPersonPhone } from "../intake/read-person-phone.ts";
import { changeGroupCount } from "./internal/change-group-count.ts";
import { touchGroup } from "./internal/touch-group.ts";

/**
 * Adds members, one per phone: of several entries with the same phone, in any spelling, the first counts, and it
 * replaces an existing member with that phone. Refuses: not-found; validation-failed (see validateMembers).
 */
export async function addGroupMembers(
  tx: Tx,
  actor: Actor,
  group: { readonly id: number; readonly country_code: string },
  input: NewMembers,
  now: Date,
): Promise<AddedMembers> {
  const { id: group_id, country_code } = group;
  const violations = validateMembers(input, country_code);
  if (violations.length > 0) throw invalid(violations);
  const { account_id } = actor;
  const people = new Map<string, Person>();
  for (const { phone_number, name, variables } of input.members) {
    const phone = readPersonPhone(phone_number, country_code)!;
    const key = phoneKey(phone);
    if (!people.has(key))
      people.set(key, { phone, name: name || null, variables: variables ?? {} });
  }
  await touchGroup(tx, account_id, group_id, now);
  const updated_count = await writeMembers(tx, { account_id, group_id, now }, [...people.values()]);
  const added_count = people.size - updated_count;
  await changeGroupCount(tx, account_id, group_id, added_count);
  await recordAudit(tx, actor, {
    at: now,
    action: "group_members.added",
    subject_id: group_id,
    detail: { added: added_count, updated: updated_count },
  });
  const duplicate_count = input.members.length - people.size;
  return { added_count, updated_count, duplicate_count };
}

/** Validates new members beyond the schema; the body may have any shape. */
export function validateMembers(body: unknown, countryCode: string): FieldError[] {
  const { members } = (body ?? {}) as { members?: unknown };
  if (!Array.isArray(members)) return [];
  return members.slice(0, members_added_max).flatMap((member: unknown, i) => {
    const { phone_number } = (member ?? {}) as { phone_number?: unknown };
    const isInvalid =
      typeof phone_number === "string" && readPersonPhone(phone_number, countryCode) === null;
    return isInvalid ? [{ field: `members.${i}.phone_number`, reason: phone_reason }] : [];
  });
}

type Person = {
  readonly phone: string;
  readonly name: string | null;
  readonly variables: Readonly<Record<string, string>>;
};

/** Writes the members and returns how many of them the group already had. */
async function writeMembers(
  tx: Tx,
  to: { readonly account_id: number; readonly group_id: number; readonly now: Date },
  people: readonly Person[],
): Promise<number> {
  const phones = people.map(({ phone }) => phone);
  const { count } = await tx
    .selectFrom("group_members")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where("account_id", "=", to.account_id)
    .where("group_id", "=", to.group_id)
    .where("phone_key", "=", sql<string>`any(${phones.map(phoneKey)}::text[])`)
    .executeTakeFirstOrThrow();
  const names = people.map(({ name }) => name);
  const variables = people.map((person) => JSON.stringify(person.variables));
  await sql`
    insert into group_members (account_id, group_id, phone_key, phone, name, variables, created_at)
    select ${to.account_id}::bigint, ${to.group_id}::bigint, phone_key(phone), phone, name,
      variables::jsonb, ${to.now}::timestamptz
    from unnest(${phones}::text[], ${names}::text[], ${variables}::text[])
      as sent (phone, name, variables)
    on conflict (account_id, group_id, phone_key) do update set
      phone = excluded.phone, name = excluded.name, variables = excluded.variables`.execute(tx);
  return count;
}
