import type { Kysely } from "kysely";
import {
  chooseTrunk,
  findTrunks,
  type TrunkOnNode,
} from "../../../telephony/trunks/choose-trunk.ts";
import type { DB } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";

/** The trunk of a new campaign, and its shares on all of its nodes. `random` is in [0, 1). Unavailable when there is none. */
export async function requireTrunk(
  db: Kysely<DB>,
  accountId: number,
  random: number,
): Promise<{ readonly trunk_id: number; readonly shares: readonly TrunkOnNode[] }> {
  const trunks = await findTrunks(db, [accountId, null]);
  const chosen = chooseTrunk(trunks, random);
  if (!chosen)
    throw new Refusal("unavailable", "No calls can be placed just now: no trunk can be used", {
      headers: { "retry-after": "60" },
      cause: new Error(`account ${accountId} has no active trunk on an active node`),
    });
  const { trunk_id } = chosen;
  return { trunk_id, shares: trunks.filter((share) => share.trunk_id === trunk_id) };
}
