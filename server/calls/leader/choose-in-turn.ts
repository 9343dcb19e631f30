// Calls of an account choose from its groups one after the other: who is chosen is stored as rung
// before the next one looks who is free.
import type { Call } from "../state-machine/call.ts";

/** `from_group`: whether it is chosen from a group; its agent's policy says so unless given. */
export type ChooseInTurn = <Answer>(
  call: Call,
  work: () => Promise<Answer>,
  from_group?: boolean,
) => Promise<Answer>;

/** Runs `work`, which chooses the call's agents and stores them; at once where no group is chosen from. */
export function openChooseInTurn(): ChooseInTurn {
  const last = new Map<number, Promise<unknown>>();
  return async (call, work, from_group = isFromGroup(call)) => {
    const { account_id } = call;
    if (!from_group) return work();
    const done = (last.get(account_id) ?? Promise.resolve()).then(work);
    const settled = done.catch(() => {});
    last.set(account_id, settled);
    try {
      return await done;
    } finally {
      if (last.get(account_id) === settled) last.delete(account_id);
    }
  };
}

function isFromGroup({ legs, plan }: Call): boolean {
  return (legs.length === 0 ? plan.from_group_id : plan.agent_not_pick_group_id) !== null;
}
