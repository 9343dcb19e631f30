// Serializes an account's choices from agent groups: the legs of one call's agents are stored before the
// next call looks for free agents.
import type { Transition } from "../../state-machine/events-and-commands.ts";

export type SerializeAgentChoice = <Answer>(
  next: Pick<Transition, "call" | "request">,
  work: () => Promise<Answer>,
) => Promise<Answer>;

/** Runs `work`, which answers a transition's request and stores it; without waiting if no group is involved. */
export function openSerializeAgentChoice(): SerializeAgentChoice {
  const last = new Map<number, Promise<unknown>>();
  return async (next, work) => {
    const { account_id } = next.call;
    if (!choosesFromGroup(next)) return work();
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

function choosesFromGroup({ call, request }: Pick<Transition, "call" | "request">): boolean {
  if (request?.type === "choose_transfer_agent") return "agent_group_id" in request.to;
  if (request?.type !== "choose_agents") return false;
  const { legs, click_to_call: terms } = call;
  return (legs.length === 0 ? terms.from_group_id : terms.agent_not_pick_group_id) !== null;
}
