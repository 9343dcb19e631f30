// Over which trunk and node a call is placed: decided once, when it is submitted.
import type { VoiceDriverName } from "../../drivers/voice/driver.ts";
import { statement } from "../../lib/database/database.ts";

/** A trunk on one of its nodes, as an account may use it. */
export type TrunkOnNode = {
  readonly trunk_id: number;
  readonly node_id: number;
  readonly driver: VoiceDriverName;
  readonly connected: boolean;
  /** The account's alone. */
  readonly own: boolean;
  /** Whether the call's caller id may be shown; true when it names none. */
  readonly allows_caller_id: boolean;
  /** New calls a second of the trunk on the node. */
  readonly calls_per_second: number;
};

/** The active trunks that the account may use, each with its active nodes: a query of their rows. */
export const trunksOnNodes = (accountId: string, callerIdOrNull: string) => `
  select t.id as trunk_id, n.id as node_id, n.driver, n.connected_at is not null as connected,
    t.only_account_id is not null as own,
    not t.caller_ids_only or ${callerIdOrNull}::text is null
      or ${callerIdOrNull} = any (t.caller_ids) as allows_caller_id,
    s.calls_per_second
  from trunks t
  join trunk_nodes s on s.trunk_id = t.id
  join voice_nodes n on n.id = s.node_id
  where t.active and n.active and (t.only_account_id is null or t.only_account_id = ${accountId})
  order by t.id, n.id`;

/** Those of account $1; $2 is a caller id or null. */
export const findTrunks = statement<TrunkOnNode>(trunksOnNodes("$1", "$2"));

/**
 * One of the trunks, at random by their shares: of those on a connected node if there is any, and of
 * these the account's own if it has any. `random` is in [0, 1). Null where there is none.
 */
export function chooseTrunk(trunks: readonly TrunkOnNode[], random: number): TrunkOnNode | null {
  const best = preferred(
    preferred(trunks, ({ connected }) => connected),
    ({ own }) => own,
  );
  const total = best.reduce((sum, { calls_per_second }) => sum + calls_per_second, 0);
  let left = random * total;
  for (const trunk of best) {
    left -= trunk.calls_per_second;
    if (left < 0) return trunk;
  }
  return best.at(-1) ?? null;
}

function preferred(
  trunks: readonly TrunkOnNode[],
  isBetter: (trunk: TrunkOnNode) => boolean,
): readonly TrunkOnNode[] {
  const better = trunks.filter(isBetter);
  return better.length > 0 ? better : trunks;
}
