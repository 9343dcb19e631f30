import type { Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";

/** Returns the drivers of the active nodes of the trunks that the account may use, each once. */
export async function voiceDriversOf(db: Kysely<DB>, accountId: number): Promise<string[]> {
  const rows = await db
    .selectFrom("trunks as t")
    .innerJoin("trunk_nodes as s", "s.trunk_id", "t.id")
    .innerJoin("voice_nodes as n", "n.id", "s.node_id")
    .select("n.driver")
    .distinct()
    .where("t.active", "=", true)
    .where("n.active", "=", true)
    .where((eb) =>
      eb.or([eb("t.only_account_id", "is", null), eb("t.only_account_id", "=", accountId)]),
    )
    .orderBy("n.driver")
    .execute();
  return rows.map(({ driver }) => driver);
}
