import type { Kysely } from "kysely";
import { cellText } from "../../../lib/csv/cell-text.ts";
import type { DB } from "../../../lib/database/database.ts";

/** Finds the active users that the cells of these rows name, by ID and by email address. */
export async function findAgents(
  db: Kysely<DB>,
  accountId: number,
  columns: ReadonlyMap<string, number>,
  rows: readonly { readonly cells: readonly string[] }[],
): Promise<ReadonlyMap<string, number>> {
  const column = columns.get("assignedAgentId");
  const texts =
    column === undefined ? [] : rows.map(({ cells }) => cellText(cells[column]).toLowerCase());
  const wanted = [...new Set(texts)].filter((text) => text !== "");
  const agents = new Map<string, number>();
  if (wanted.length === 0) return agents;
  const ids = wanted
    .filter((cell) => /^[0-9]{1,16}$/.test(cell))
    .map(Number)
    .filter(Number.isSafeInteger);
  const users = await db
    .selectFrom("users")
    .select(["id", "email"])
    .where("account_id", "=", accountId)
    .where("active", "=", true)
    .where((eb) =>
      eb.or([eb("email", "=", eb.fn.any(eb.val(wanted))), eb("id", "=", eb.fn.any(eb.val(ids)))]),
    )
    .execute();
  for (const user of users) {
    agents.set(user.email, user.id);
    agents.set(String(user.id), user.id);
  }
  return agents;
}
