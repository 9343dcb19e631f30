// Chooses the agents of a call: its own agent first, then those of its no-answer policy.
import type { VoiceDriverName } from "../../../drivers/voice/driver.ts";
import { statement, type Executor } from "../../../lib/database/database.ts";
import { isExtension } from "../../../telephony/agent-groups/agent-number.ts";
import type { Agent, Call } from "../../state-machine/call.ts";
import type { TransferTarget } from "../../state-machine/menu.ts";
import { ringsAgain } from "../../state-machine/ring-again.ts";
import { extensionAgent, findExtensionNumber } from "./find-extension.ts";
import { formatNumber, type TrunkLine } from "../dialer/trunk-line.ts";

/** The most agent legs of one call, so that no policy rings forever. */
const agent_legs_max = 20;

/** How the node reaches agents. */
type Route = { readonly trunk: TrunkLine; readonly driver: VoiceDriverName };

/**
 * Returns the agents to ring at once, or none if none is left: only agents that the node can reach, and
 * group members who are neither on a call nor away. Call it while the call has no live agent leg. `again` is a number to
 * ring again because its leg was never placed.
 */
export async function chooseAgents(
  db: Executor,
  call: Call,
  trunk: TrunkLine,
  driver: VoiceDriverName,
  again: string | null,
): Promise<readonly Agent[]> {
  const rung = call.legs.filter(({ role }) => role === "agent");
  const left = agent_legs_max - rung.length;
  if (left <= 0) return [];
  const route = { trunk, driver };
  if (again !== null) return findAgent(db, call, again, route);
  if (rung.length === 0) return chooseFirst(db, call, route);
  return (await chooseNext(db, call, route)).slice(0, left);
}

/**
 * Returns the agent to ring next for the caller of a voice call: the extension, or the group's member who
 * has been idle longest, each once per transfer; null when none is left.
 */
export async function chooseTransferAgent(
  db: Executor,
  call: Call,
  to: TransferTarget,
  trunk: TrunkLine,
  driver: VoiceDriverName,
): Promise<Agent | null> {
  const rung = call.legs.filter(({ role }) => role === "transfer");
  if (rung.length >= agent_legs_max) return null;
  // The IDs of legs are 1, 2, ….
  const legs_before = call.position?.legs_before ?? 0;
  const tried = new Set(rung.map(({ id, number }) => (id > legs_before ? number : null)));
  if ("extension" in to) {
    if (tried.has(to.extension)) return null;
    return findExtensionNumber(db, call, to.extension, driver);
  }
  const members = await readMembers(db, call, to.agent_group_id, { trunk, driver });
  const free = members.filter(({ agent, busy, number }) => agent && !busy && !tried.has(number));
  return longestIdle(free)?.agent ?? null;
}

async function chooseFirst(db: Executor, call: Call, route: Route): Promise<readonly Agent[]> {
  const { from_group_id } = call.click_to_call;
  const own = call.from_number;
  if (from_group_id === null) return findAgent(db, call, own, route);
  const free = await freeMembers(db, call, from_group_id, route);
  return agentsOf([free.find(({ number }) => number === own) ?? longestIdle(free)]);
}

async function chooseNext(db: Executor, call: Call, route: Route): Promise<readonly Agent[]> {
  const { policy_applied, agent_not_pick_group_id: group_id } = call.click_to_call;
  if (policy_applied === "hangup") return [];
  if (policy_applied === "retry_agent") return retryAgent(db, call, route);
  if (group_id === null) return [];
  if (policy_applied === "round_robin") return nextInRotation(db, call, group_id, route);
  const free = await freeMembers(db, call, group_id, route);
  if (policy_applied === "ring_all") return agentsOf(free);
  return agentsOf([policy_applied === "longest_idle" ? longestIdle(free) : free[0]]);
}

async function retryAgent(db: Executor, call: Call, route: Route): Promise<readonly Agent[]> {
  const last = call.legs.findLast(({ role }) => role === "agent");
  return last && ringsAgain(call) ? findAgent(db, call, last.number, route) : [];
}

const readLastMember = statement<{ last_member_id: number | null }>(
  "select last_member_id from agent_groups where account_id = $1 and id = $2",
);

const writeLastMember = statement<{ id: number }>(`
  update agent_groups set last_member_id = $3
  where account_id = $1 and id = $2 and last_member_id is not distinct from $4
  returning id`);

/** After losing the race this often, two calls may ring the same member. */
const rotations_max = 5;

/** Chooses the next member of the group's rotation, which other calls advance as well. */
async function nextInRotation(
  db: Executor,
  call: Call,
  groupId: number,
  route: Route,
): Promise<readonly Agent[]> {
  let next: Member | undefined;
  for (let i = 0; i < rotations_max; i++) {
    const [group] = await readLastMember(db, [call.account_id, groupId]);
    if (!group) return [];
    const { last_member_id } = group;
    const members = await readMembers(db, call, groupId, route);
    const last = members.findIndex(({ id }) => id === last_member_id);
    const rotated = [...members.slice(last + 1), ...members.slice(0, last + 1)];
    next = freeOf(rotated, call)[0];
    if (!next) return [];
    const values = [call.account_id, groupId, next.id, last_member_id];
    if ((await writeLastMember(db, values)).length > 0) break;
  }
  return agentsOf([next]);
}

/** Finds the agent at a number; a phone number needs no query. */
async function findAgent(
  db: Executor,
  call: Call,
  number: string,
  { trunk, driver }: Route,
): Promise<readonly Agent[]> {
  if (!isExtension(number)) return [phoneAgent(call, number, trunk)];
  const agent = await findExtensionNumber(db, call, number, driver);
  return agent ? [agent] : [];
}

function phoneAgent(call: Call, number: string, trunk: TrunkLine): Agent {
  const dialed = formatNumber(trunk, number, call.settings.country_code);
  return { number, target: { kind: "trunk", endpoint: trunk.endpoint, number: dialed } };
}

type MemberRow = {
  readonly id: number;
  readonly number: string;
  readonly endpoint: string | null;
  /** On a call, or away. */
  readonly busy: boolean;
  /** When the member's last leg ended; null: there was none. */
  readonly idle_since: Date | null;
};

type Member = MemberRow & { readonly agent: Agent | null };

const findMembers = statement<MemberRow>(`
  select m.id, m.number, e.endpoint,
    exists (
      select from call_legs l
      where l.account_id = $1 and l.number = m.number and l.state <> 'ended')
    or exists (
      select from away_agents a
      where a.account_id = $1 and a.number = m.number) as busy,
    (select l.ended_at from call_legs l
      where l.account_id = $1 and l.number = m.number and l.role <> 'customer'
      order by l.initiated_at desc limit 1) as idle_since
  from agent_group_members m
  left join extensions e on e.account_id = $1 and e.extension = m.number
  where m.account_id = $1 and m.group_id = $2
  order by m.position, m.id`);

/** Returns a group's members in ring order. */
async function readMembers(
  db: Executor,
  call: Call,
  groupId: number,
  { trunk, driver }: Route,
): Promise<readonly Member[]> {
  const rows = await findMembers(db, [call.account_id, groupId]);
  return rows.map((row) => {
    const { number } = row;
    if (!isExtension(number)) return { ...row, agent: phoneAgent(call, number, trunk) };
    const endpoint = row.endpoint ?? (driver === "sandbox" ? number : null);
    return { ...row, agent: endpoint === null ? null : extensionAgent(number, endpoint) };
  });
}

/** Returns the members that the node can reach, that are neither on a call nor away, and were not tried by this one. */
function freeOf(members: readonly Member[], call: Call): readonly Member[] {
  const tried = new Set(call.legs.map(({ role, number }) => (role === "agent" ? number : null)));
  return members.filter(({ agent, busy, number }) => agent && !busy && !tried.has(number));
}

async function freeMembers(
  db: Executor,
  call: Call,
  groupId: number,
  route: Route,
): Promise<readonly Member[]> {
  return freeOf(await readMembers(db, call, groupId, route), call);
}

/** Prefers a member without any call; among equals, the first in ring order. */
function longestIdle(members: readonly Member[]): Member | undefined {
  const since = ({ idle_since }: Member) => idle_since?.getTime() ?? -Infinity;
  return members.reduce<Member | undefined>(
    (best, one) => (best && since(best) <= since(one) ? best : one),
    undefined,
  );
}

function agentsOf(members: readonly (Member | undefined)[]): readonly Agent[] {
  return members.flatMap((member) => member?.agent ?? []);
}
