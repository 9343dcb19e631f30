// Chooses the trunk and node of a call, once, when the call is submitted.
import type { VoiceDriverName } from "../../drivers/voice/driver.ts";
import { isExtension } from "../agent-groups/agent-number.ts";
import type { AgentNumberRule } from "./trunk-schema.ts";
import { statement, type Executor } from "../../lib/database/database.ts";

/** A trunk on one of its nodes that an account may use. */
export type TrunkOnNode = {
  readonly trunk_id: number;
  readonly node_id: number;
  readonly driver: VoiceDriverName;
  readonly connected: boolean;
  /** Whether the trunk belongs to this account only. */
  readonly own: boolean;
  /** Whether the trunk allows the call's caller ID; true if the call names none. */
  readonly allows_caller_id: boolean;
  readonly agent_numbers: AgentNumberRule;
  /** The countries that it calls, or `*`. */
  readonly destinations: readonly string[];
  /** New calls per second of the trunk on the node. */
  readonly calls_per_second: number;
};

/**
 * Whether trunk t lists the number as a caller ID; the last ten digits identify it. Without a subquery over the list, which
 * Citus refuses beside tables of accounts.
 */
export const listsCallerId = (
  number: string,
) => `(${number}::text = any (t.caller_ids) or length(${number}::text) >= 10
    and array_to_string(t.caller_ids, ',') || ',' like '%' || right(${number}::text, 10) || ',%')`;

/** The SQL function allows_caller_id of trunk t, which Citus does not run for the rows of an account; a test compares them. */
export const allowsCallerId = (accountId: string, number: string) => `(
  select (o.is_own or not o.is_assigned) and (not t.caller_ids_only or ${listsCallerId(number)}
    and (o.is_own or coalesce(t.only_account_id = ${accountId}, false)))
  from (
    select coalesce(bool_or(n.account_id = ${accountId}), false) as is_own, count(*) > 0 as is_assigned
    from phone_numbers n where right(n.number, 10) = right(${number}::text, 10)) o)`;

/** Returns a query of the active trunks that the account may use, with each of their active nodes. */
export const trunksOnNodes = (accountId: string, callerIdOrNull: string) => `
  select t.id as trunk_id, n.id as node_id, n.driver, n.connected_at is not null as connected,
    t.only_account_id is not null as own,
    ${callerIdOrNull}::text is null
      or ${allowsCallerId(accountId, callerIdOrNull)} as allows_caller_id,
    t.agent_numbers, t.destinations, s.calls_per_second
  from trunks t
  join trunk_nodes s on s.trunk_id = t.id
  join voice_nodes n on n.id = s.node_id
  where t.active and n.active and (t.only_account_id is null or t.only_account_id = ${accountId})
  order by t.id, n.id`;

/** Finds the trunks of account $1; $2 is a caller ID or null. */
export const findTrunks = statement<TrunkOnNode>(trunksOnNodes("$1", "$2"));

const findDefault = statement<{ caller_id: string | null }>(
  "select default_caller_id($1, row(t.*)::trunks) as caller_id from trunks t where t.id = $2",
);

/** Finds the caller ID that the account's calls show over the trunk by default; null: the carrier sets one. */
export async function findDefaultCallerId(
  db: Executor,
  accountId: number,
  trunkId: number,
): Promise<string | null> {
  const [found] = await findDefault(db, [accountId, trunkId]);
  return found?.caller_id ?? null;
}

/** Returns whether the trunk rings the number as an agent; `isKnown`: it is an extension or agent number of the account. */
export function ringsAgent(
  { driver, agent_numbers }: Pick<TrunkOnNode, "driver" | "agent_numbers">,
  number: string,
  isKnown: boolean,
): boolean {
  return isKnown || driver === "sandbox" || (agent_numbers === "any" && !isExtension(number));
}

/**
 * Chooses a trunk at random, weighted by calls per second; prefers connected nodes, then the
 * account's own trunks. `random` is in [0, 1). Returns null if `trunks` is empty.
 */
export function chooseTrunk(trunks: readonly TrunkOnNode[], random: number): TrunkOnNode | null {
  const best = preferred(
    preferred(trunks, ({ connected }) => connected),
    ({ own }) => own,
  );
  const total = best.reduce((sum, { calls_per_second }) => sum + calls_per_second, 0);
  let remaining = random * total;
  for (const trunk of best) {
    remaining -= trunk.calls_per_second;
    if (remaining < 0) return trunk;
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
