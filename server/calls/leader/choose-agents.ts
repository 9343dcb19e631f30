// Who is rung for a call: its agent first, and when nobody answers whoever its policy names.
import type { VoiceDriverName } from "../../drivers/voice/driver.ts";
import { statement, type Executor } from "../../lib/database/database.ts";
import { isExtension } from "../../telephony/agent-groups/agent-number.ts";
import type { Agent, Call } from "../state-machine/call.ts";
import type { TransferTarget } from "../state-machine/menu.ts";
import { extensionAgent, findExtensionNumber } from "./find-extension.ts";
import { formatNumber, type TrunkLine } from "./trunk-line.ts";

/** Agent legs of one call, so that no policy rings for ever. */
const agent_legs_max = 20;

/** The way from the leader's node to its agents. */
type Way = { readonly trunk: TrunkLine; readonly driver: VoiceDriverName };

/**
 * Who is to be rung now, all at once; nobody when there is nobody left. To be asked while no agent's
 * leg of the call is live. `again`: that number, whose leg never reached it. Only agents who can be
 * reached from the node are named; members of a group only while no other call has them.
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
  const way = { trunk, driver };
  if (again !== null) return findAgent(db, call, again, way);
  if (rung.length === 0) return chooseFirst(db, call, way);
  return (await chooseNext(db, call, way)).slice(0, left);
}

/**
 * Who is to be rung next for the caller of a campaign's call: the extension, or the member of the group who
 * has been idle longest, each once; null when there is nobody left.
 */
export async function chooseTransferAgent(
  db: Executor,
  call: Call,
  to: TransferTarget,
  trunk: TrunkLine,
  driver: VoiceDriverName,
): Promise<Agent | null> {
  const tried = call.legs.filter(({ role }) => role === "transfer").map(({ number }) => number);
  if (tried.length >= agent_legs_max) return null;
  if ("extension" in to) {
    if (tried.includes(to.extension)) return null;
    return findExtensionNumber(db, call, to.extension, driver);
  }
  const members = await readMembers(db, call, to.agent_group_id, { trunk, driver });
  const free = members.filter(
    ({ agent, busy, number }) => agent && !busy && !tried.includes(number),
  );
  return longestIdle(free)?.agent ?? null;
}

async function chooseFirst(db: Executor, call: Call, way: Way): Promise<readonly Agent[]> {
  const { from_group_id } = call.plan;
  const own = call.from_number;
  if (from_group_id === null) return findAgent(db, call, own, way);
  const free = await freeMembers(db, call, from_group_id, way);
  return agentsOf([free.find(({ number }) => number === own) ?? longestIdle(free)]);
}

async function chooseNext(db: Executor, call: Call, way: Way): Promise<readonly Agent[]> {
  const { policy_applied, agent_not_pick_group_id: group_id } = call.plan;
  if (policy_applied === "hangup") return [];
  if (policy_applied === "retry_agent") return retryAgent(db, call, way);
  if (group_id === null) return [];
  if (policy_applied === "round_robin") return nextInRotation(db, call, group_id, way);
  const free = await freeMembers(db, call, group_id, way);
  if (policy_applied === "ring_all") return agentsOf(free);
  return agentsOf([policy_applied === "longest_idle" ? longestIdle(free) : free[0]]);
}

async function retryAgent(db: Executor, call: Call, way: Way): Promise<readonly Agent[]> {
  const rung = call.legs.filter(({ role, outcome }) => role === "agent" && outcome !== "unplaced");
  const last = call.legs.findLast(({ role }) => role === "agent");
  if (!last || rung.length > call.plan.agent_retry_count) return [];
  return findAgent(db, call, last.number, way);
}

const readTurn = statement<{ last_member_id: number | null }>(
  "select last_member_id from agent_groups where account_id = $1 and id = $2",
);

const writeTurn = statement<{ id: number }>(`
  update agent_groups set last_member_id = $3
  where account_id = $1 and id = $2 and last_member_id is not distinct from $4
  returning id`);

/** After so many calls were quicker, theirs and ours may ring the same one. */
const turns_max = 5;

/** The next in the group's round, which other calls turn as well. */
async function nextInRotation(
  db: Executor,
  call: Call,
  groupId: number,
  way: Way,
): Promise<readonly Agent[]> {
  let next: Member | undefined;
  for (let i = 0; i < turns_max; i++) {
    const [group] = await readTurn(db, [call.account_id, groupId]);
    if (!group) return [];
    const { last_member_id } = group;
    const members = await readMembers(db, call, groupId, way);
    const last = members.findIndex(({ id }) => id === last_member_id);
    const inTurn = [...members.slice(last + 1), ...members.slice(0, last + 1)];
    next = freeOf(inTurn, call)[0];
    if (!next) return [];
    const values = [call.account_id, groupId, next.id, last_member_id];
    if ((await writeTurn(db, values)).length > 0) break;
  }
  return agentsOf([next]);
}

/** One number, wherever it is: a phone costs no query. */
async function findAgent(
  db: Executor,
  call: Call,
  number: string,
  { trunk, driver }: Way,
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
  readonly busy: boolean;
  /** When the last leg there ended; null: it never had one. */
  readonly idle_since: Date | null;
};

type Member = MemberRow & { readonly agent: Agent | null };

const findMembers = statement<MemberRow>(`
  select m.id, m.number, e.endpoint,
    exists (
      select from call_legs l
      where l.account_id = $1 and l.number = m.number and l.state <> 'ended') as busy,
    (select l.ended_at from call_legs l
      where l.account_id = $1 and l.number = m.number and l.role <> 'customer'
      order by l.initiated_at desc limit 1) as idle_since
  from agent_group_members m
  left join extensions e on e.account_id = $1 and e.extension = m.number
  where m.account_id = $1 and m.group_id = $2
  order by m.position, m.id`);

/** A group's members in their order. */
async function readMembers(
  db: Executor,
  call: Call,
  groupId: number,
  { trunk, driver }: Way,
): Promise<readonly Member[]> {
  const rows = await findMembers(db, [call.account_id, groupId]);
  return rows.map((row) => {
    const { number } = row;
    if (!isExtension(number)) return { ...row, agent: phoneAgent(call, number, trunk) };
    const endpoint = row.endpoint ?? (driver === "sandbox" ? number : null);
    return { ...row, agent: endpoint === null ? null : extensionAgent(number, endpoint) };
  });
}

/** Those who can be rung, whom no call has and this one has not tried. */
function freeOf(members: readonly Member[], call: Call): readonly Member[] {
  const tried = new Set(call.legs.map(({ role, number }) => (role === "agent" ? number : null)));
  return members.filter(({ agent, busy, number }) => agent && !busy && !tried.has(number));
}

async function freeMembers(
  db: Executor,
  call: Call,
  groupId: number,
  way: Way,
): Promise<readonly Member[]> {
  return freeOf(await readMembers(db, call, groupId, way), call);
}

/** Who never had a call comes first; of several, the first in order. */
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
