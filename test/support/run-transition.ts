// Runs the call state machine in tests and answers its requests.
import type { Call, Line } from "../../server/calls/state-machine/call.ts";
import type {
  CallEvent,
  Request,
  Transition,
} from "../../server/calls/state-machine/events-and-commands.ts";
import { answerRequest, transition } from "../../server/calls/state-machine/transition.ts";

/** Returns the transition of the event; grants reservations and retries unless `isGranted` returns false. */
export function runTransition(
  call: Call,
  line: Line,
  event: CallEvent,
  isGranted = true,
): Transition | null {
  let next = transition(call, line, event);
  for (;;) {
    const answer = next?.request && answerTo(next.request, event.at, isGranted);
    if (!next || !answer) return next;
    next = answerRequest(next, line, answer);
  }
}

/** Returns null for a choice of agents, which the test makes. */
function answerTo(request: Request, at: Date, isGranted: boolean): CallEvent | null {
  if (request.type === "queue_retry") {
    const { due_at } = request;
    return isGranted ? { type: "retry_queued", due_at, at } : { type: "retry_refused", at };
  }
  if (request.type !== "reserve_credit") return null;
  const { amount, purpose } = request;
  return isGranted
    ? { type: "credit_reserved", amount, purpose, at }
    : { type: "credit_refused", purpose, at };
}
