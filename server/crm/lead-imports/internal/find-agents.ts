import type { Tx } from "../../../lib/database/database.ts";

/** Finds the active users that these cells name, by ID and by email address. */
export async function findAgents(
  tx: Tx,
  accountId: number,
  cells: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const wanted = [...new Set(cells)].filter((cell) => cell !== "");
  const agents = new Map<string, number>();
  if (wanted.length === 0) return agents;
  const ids = wanted
    .filter((cell) => /^[0-9]{1,16}$/.test(cell))
    .map(Number)
    .filter(Number.isSafeInteger);
  const users = await tx
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
