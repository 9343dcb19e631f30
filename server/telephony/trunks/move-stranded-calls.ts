// Queued calls of nodes that cannot place them.
import type { VoiceDriverName } from "../../drivers/voice/driver.ts";
import type { App } from "../../engine/app.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import {
  destinationOf,
  every_destination,
  hasDestination,
} from "../../lib/phone-destinations/phone-destinations.ts";
import { phoneSpellings } from "../../lib/phone-key.ts";
import type { Random } from "../../lib/random.ts";
import { isExtension } from "../agent-groups/agent-number.ts";
import { isAgentNumber } from "../agent-numbers/is-agent-number.ts";
import { moveQueuedCalls, type MovedCalls } from "../nodes/move-queued-calls.ts";
import { serializeNodeChanges } from "../nodes/serialize-node-changes.ts";
import { chooseTrunk, findTrunks, ringsAgent, type TrunkOnNode } from "./choose-trunk.ts";

type Node = { readonly id: number; readonly driver: VoiceDriverName };

const findStranded = statement<Node>(`
  select distinct n.id, n.driver from voice_nodes n
  join calls c on c.node_id = n.id and c.stage = 'queued'
  where not n.active or n.lost_at is not null`);

/**
 * Runs one iteration: moves calls that are queued on an inactive or lost node to another node of their trunk,
 * else to another trunk of the same driver that could have been chosen when they were submitted. Returns 0: the
 * rest cannot be moved now.
 */
export async function moveStrandedCalls(app: App): Promise<number> {
  for (const node of await findStranded(app.db.pool, [])) {
    const moved = await app.db.query.transaction().execute(async (tx) => {
      await serializeNodeChanges(tx);
      const sameTrunk = await moveQueuedCalls(tx, { node_id: node.id });
      return [...sameTrunk, ...(await moveToOtherTrunks(tx, node, app.random))];
    });
    for (const { node_id, account_id } of moved)
      app.notifications.send("call_work", `${node_id}:${account_id}`);
  }
  return 0;
}

/** Queued calls of an account with the same caller ID and the same agent. */
type Left = {
  readonly account_id: number;
  readonly cli_number: string | null;
  readonly from_number: string;
  readonly calls: readonly { readonly id: number; readonly to_phone: string }[];
};

const findLeft = statement<Left>(`
  select account_id, cli_number, from_number,
    json_agg(json_build_object('id', id, 'to_phone', to_phone)) as calls
  from calls where node_id = $1 and stage = 'queued'
  group by account_id, cli_number, from_number`);

const moveCalls = statement<{ id: number }>(`
  update calls set node_id = $4, trunk_id = $5, fence = 0
  where account_id = $1 and node_id = $2 and stage = 'queued' and id = any($3)
  returning id`);

/** Moves what no other node of their trunk can place. */
async function moveToOtherTrunks(tx: Tx, from: Node, random: Random): Promise<MovedCalls> {
  const moved: MovedCalls[number][] = [];
  for (const left of await findLeft(tx, [from.id])) {
    const { account_id, calls } = left;
    const usable = await findUsable(tx, from, left);
    const choose = (phone: string) =>
      chooseTrunk(
        usable.filter((trunk) => reaches(trunk, phone)),
        random(),
      );
    const byTrunk = Map.groupBy(calls, ({ to_phone }) => choose(to_phone));
    for (const [trunk, placed] of byTrunk) {
      if (!trunk) continue;
      const { node_id, trunk_id } = trunk;
      const ids = placed.map(({ id }) => id);
      await moveCalls(tx, [account_id, from.id, ids, node_id, trunk_id]);
      moved.push({ node_id, account_id });
    }
  }
  return moved;
}

const findKnown = statement<{ is_known: boolean }>(
  `select ${isAgentNumber("$1", "$2")} as is_known`,
);

/**
 * Finds the trunks that show the calls' caller ID and may ring their agent. None of another driver: the sandbox would
 * only simulate a real call, and a call submitted to the sandbox would ring real phones.
 */
async function findUsable(
  tx: Tx,
  from: Node,
  { account_id, cli_number, from_number }: Left,
): Promise<readonly TrunkOnNode[]> {
  const phone = isExtension(from_number) ? null : from_number;
  const isKnown = phone === null || (await isKnownPhone(tx, account_id, phone));
  const trunks = await findTrunks(tx, [account_id, cli_number]);
  return trunks.filter(
    (trunk) =>
      trunk.driver === from.driver &&
      trunk.connected &&
      trunk.node_id !== from.id &&
      trunk.allows_caller_id &&
      ringsAgent(trunk, from_number, isKnown) &&
      (phone === null || reaches(trunk, phone)),
  );
}

async function isKnownPhone(tx: Tx, accountId: number, phone: string): Promise<boolean> {
  const [found] = await findKnown(tx, [accountId, phoneSpellings(phone)]);
  return found!.is_known;
}

function reaches({ destinations }: TrunkOnNode, phone: string): boolean {
  return (
    destinations.includes(every_destination) ||
    hasDestination(destinations, destinationOf(phone).country)
  );
}
