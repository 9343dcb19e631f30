// Reads the members of a group, in the order of their phone keys.
import type { Kysely } from "kysely";
import { readBounded } from "../../lib/database/cursor.ts";
import { statement, type DB, type Executor } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import { phoneKey } from "../../lib/phone-key.ts";
import type { MemberResponse } from "./group-schema.ts";
import { requireGroup } from "./groups.ts";

export type GroupMember = {
  /** E.164 digits, without the plus. */
  readonly phone: string;
  /** Includes the member's name as `name`, unless a variable has that name. */
  readonly variables: Readonly<Record<string, string>>;
};

const batch_members = 5_000;
/** A member's variables may have a million characters. */
const batch_bytes_max = 4_000_000;

// The stored size first, which is known without reading the variables: they may be compressed. Always the first member.
const nextMembers = statement<GroupMember & { phone_key: string; found: number }>(`
  select phone_key, phone, case when name is null then variables
    else jsonb_build_object('name', name) || variables end as variables, found
  from (
    select m.*, sum(m.bytes) over (order by m.phone_key) - m.bytes as bytes_before from (
      select m.*, octet_length(m.variables::text) as bytes from (
        select m.*, count(*) over ()::int as found,
          sum(m.stored) over (order by m.phone_key) - m.stored as stored_before
        from (
          select phone_key, phone, name, variables, pg_column_size(variables) as stored
          from group_members
          where account_id = $1 and group_id = $2 and phone_key > $3
            and exists (select from groups where account_id = $1 and id = $2 and deleted_at is null)
          order by phone_key limit $4
        ) m
      ) m
      where m.stored_before < $5
    ) m
  ) m
  where m.bytes_before < $5
  order by phone_key`);

/**
 * Yields all members in batches of at most 5,000 and about 4 MB of variables, ordered by phone key; none for an unknown or
 * deleted group. Each batch is its own statement: on a pool, concurrent additions and removals may or may not be included,
 * and no phone occurs twice. Must not run on a connection that executes a COPY.
 */
export async function* openGroupMembers(
  db: Executor,
  accountId: number,
  groupId: number,
): AsyncGenerator<readonly GroupMember[], void, undefined> {
  let limit = batch_members;
  for (let after = ""; ;) {
    const members = await nextMembers(db, [accountId, groupId, after, limit, batch_bytes_max]);
    if (members.length > 0) yield members.map(({ phone, variables }) => ({ phone, variables }));
    const last = members.at(-1);
    const isCut = last !== undefined && members.length < last.found;
    if (last === undefined || (!isCut && members.length < limit)) return;
    after = last.phone_key;
    // Of members with long variables, the next statement measures few more than it returns.
    limit = Math.min((isCut ? members.length : limit) * 2, batch_members);
  }
}

/** Returns a page of members. Refuses: not-found; validation-failed on a cursor of another list. */
export async function listGroupMembers(
  db: Kysely<DB>,
  accountId: number,
  groupId: number,
  at: { phone?: string; limit: number; cursor?: string | undefined },
): Promise<{ data: MemberResponse[]; next_cursor: string | null }> {
  await requireGroup(db, accountId, groupId);
  let query = db
    .selectFrom("group_members")
    .select(["id", "phone_key", "phone", "name", "variables", "created_at"])
    .where("account_id", "=", accountId)
    .where("group_id", "=", groupId);
  if (at.cursor !== undefined) query = query.where("phone_key", ">", readCursor(at.cursor));
  if (at.phone !== undefined) query = query.where("phone_key", "=", phoneKey(at.phone));
  const { rows, isCut } = await readBounded(db, query.orderBy("phone_key").limit(at.limit + 1), {
    large: ["variables"],
    order: "phone_key",
  });
  const data = rows
    .slice(0, at.limit)
    .map(({ id, phone, name, variables, created_at }): MemberResponse => ({
      id,
      phone_number: phone,
      name,
      variables: variables as Record<string, string>,
      created_at: created_at.toISOString(),
    }));
  const isLast = rows.length <= at.limit && !isCut;
  return { data, next_cursor: isLast ? null : cursorAfter(rows[data.length - 1]!.phone_key) };
}

/** Encodes the last phone key of a page, because the list is ordered by it. */
function cursorAfter(phone_key: string): string {
  return Buffer.from(phone_key).toString("base64url");
}

function readCursor(cursor: string): string {
  const phone = Buffer.from(cursor, "base64url").toString();
  if (!/^[0-9]{1,20}$/.test(phone) || cursorAfter(phone) !== cursor)
    throw invalidField("cursor", "is not a cursor of this list");
  return phone;
}
