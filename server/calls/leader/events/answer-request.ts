// Answers the requests of a transition before it is stored.
import type { Call } from "../../state-machine/call.ts";
import type { CallEvent, Request, Transition } from "../../state-machine/events-and-commands.ts";
import { answerRequest } from "../../state-machine/transition.ts";
import { chooseAgents, chooseTransferAgent } from "./choose-agents.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { reserveCredit } from "../node/leader-statements.ts";
import { retryUntilStored } from "../node/retry-until-stored.ts";

/** A retry of the call, which is queued in the transaction that stores its end. */
type Deferred = Request & { type: "queue_retry" };

/** Answers a transition's requests through the state machine, until none but `queue_retry` remains. */
export async function answerRequests(
  leader: Leader,
  live: LiveCall,
  first: Transition,
): Promise<Transition> {
  let next = first;
  while (next.request && next.request.type !== "queue_retry") {
    const { call, request } = next;
    const answer = await retryUntilStored(leader, () => answerOf(leader, live, call, request));
    next = answerRequest(next, live.line, answer);
  }
  return next;
}

async function answerOf(
  { app, driver, lease }: Leader,
  { trunk }: LiveCall,
  call: Call,
  request: Exclude<Request, Deferred>,
): Promise<CallEvent> {
  switch (request.type) {
    case "choose_agents": {
      const agents = await chooseAgents(app.db.query, call, trunk, driver, request.again);
      return { type: "agents_chosen", agents, at: app.clock.now() };
    }
    case "choose_transfer_agent": {
      const to = await chooseTransferAgent(app.db.query, call, request.to, trunk, driver);
      return { type: "agent_found", to, at: app.clock.now() };
    }
    case "reserve_credit": {
      const { amount, purpose } = request;
      const at = app.clock.now();
      const isReserved = await reserveCredit(app.db.pool, call, lease.fence, amount, at);
      return isReserved
        ? { type: "credit_reserved", amount, purpose, at }
        : { type: "credit_refused", purpose, at };
    }
  }
}
