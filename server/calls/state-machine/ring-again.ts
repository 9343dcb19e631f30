// Rings an unanswered agent again (policy retry_agent), with a growing pause.
import type { Call } from "./call.ts";
import type { CallEvent, Command, Transition } from "./events-and-commands.ts";
import { liveLegs } from "./legs.ts";
import { retryable } from "./transitions/recipient-outcome.ts";

/** The pause after the first ring; it doubles after each further one. */
const pause_ms = 5_000;

/**
 * Whether the policy rings the agent again: up to `agent_retry_count` times, and only in the first attempt,
 * so that a request with retries does not ring one phone without end. Not after a rejected call.
 */
export function ringsAgain({ click_to_call, attempt, legs }: Call): boolean {
  if (click_to_call.policy_applied !== "retry_agent" || attempt > 1) return false;
  const rung = legs.filter(({ role, outcome }) => role === "agent" && outcome !== "unplaced");
  const last = rung.at(-1)?.outcome;
  return rung.length <= click_to_call.agent_retry_count && !!last && retryable.has(last);
}

/** Waits before the agent is rung again. */
export function pauseBeforeRing(call: Call): Transition {
  return { call, events: [], commands: [pauseCommand(call)] };
}

/** Returns the command that starts the pause; also after a takeover. */
export function pauseCommand({ legs }: Call): Command {
  const rung = legs.filter(({ role, outcome }) => role === "agent" && outcome !== "unplaced");
  return { type: "wait", visit: legs.length, ms: pause_ms * 2 ** Math.max(0, rung.length - 1) };
}

/** Chooses the agent again once the pause is over. */
export function handlePauseOver(
  call: Call,
  { visit }: CallEvent & { type: "timeout" },
): Transition | null {
  const isPaused = call.stage === "agent" && liveLegs(call).length === 0;
  if (!isPaused || visit !== call.legs.length || !ringsAgain(call)) return null;
  return { call, events: [], commands: [], request: { type: "choose_agents", again: null } };
}
