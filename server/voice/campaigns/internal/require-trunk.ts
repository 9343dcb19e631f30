import type { Kysely } from "kysely";
import {
  chooseTrunk,
  findDefaultCallerId,
  findTrunks,
  type TrunkOnNode,
} from "../../../telephony/trunks/choose-trunk.ts";
import type { DB } from "../../../lib/database/database.ts";
import { Refusal } from "../../../lib/errors.ts";

/** The caller ID of a campaign whose carrier sets one. */
export const carriers_own = "0";

/** The trunk of a new campaign, its share on each node, and the caller ID. */
export type ChosenTrunk = {
  readonly trunk_id: number;
  readonly caller_id: string;
  readonly shares: readonly TrunkOnNode[];
};

/**
 * Chooses the trunk and caller ID of a new campaign and returns the trunk's share on each node; `random` is in
 * [0, 1). `among`: the trunks to choose from; omitted: all of the account. Refuses: unavailable.
 */
export async function requireTrunk(
  db: Kysely<DB>,
  accountId: number,
  random: number,
  among?: readonly TrunkOnNode[],
): Promise<ChosenTrunk> {
  const trunks = among ?? (await findTrunks(db, [accountId, null]));
  const chosen = chooseTrunk(trunks, random);
  if (!chosen)
    throw new Refusal("unavailable", "No trunk is available to place calls; try again later", {
      headers: { "retry-after": "60" },
      cause: new Error(`account ${accountId} has no active trunk on an active node`),
    });
  const { trunk_id } = chosen;
  return {
    trunk_id,
    caller_id: (await findDefaultCallerId(db, accountId, trunk_id)) ?? carriers_own,
    shares: trunks.filter((share) => share.trunk_id === trunk_id),
  };
}
