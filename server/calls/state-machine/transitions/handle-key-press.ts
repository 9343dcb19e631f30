// Handles key presses: transfers of a click-to-call, and keys in a voice call's menu.
import type { Call, Line } from "../call.ts";
import type { CallEvent, Transition } from "../events-and-commands.ts";
import { handleCallerKey } from "./handle-voice-event.ts";
import { handleAcceptKey } from "./handle-leg-answered.ts";
import { findLeg } from "../legs.ts";
import { outboxEvent } from "./outbox-event.ts";

/**
 * Publishes the key. While the parties talk, the customer's `extension_for_dis`, and the agent's `*` followed
 * by `extension_for_transfer`, look up the extension that the call is transferred to.
 */
export function handleKeyPress(
  call: Call,
  line: Line,
  event: CallEvent & { type: "digit" },
): Transition | null {
  const { leg: legId, digit, at } = event;
  const leg = findLeg(call, legId);
  if (leg?.state === "accepting") return handleAcceptKey(call, line, leg, event);
  if (leg?.state !== "answered") return null;
  const { extension_for_transfer, extension_for_dis } = call.click_to_call;
  const isCustomer = leg.role === "customer";
  const pressed: Call = isCustomer
    ? { ...call, dtmf: call.dtmf + digit }
    : { ...call, starred: digit === "*" };
  const published = outboxEvent("call.dtmf", pressed, at, { leg: leg.role, digit });
  if (call.voice && isCustomer) {
    const next = handleCallerKey(pressed, digit, at) ?? { call: pressed, events: [], commands: [] };
    return { ...next, events: [published, ...next.events] };
  }
  const isTransfer =
    call.stage === "talking" &&
    (isCustomer ? digit === extension_for_dis : call.starred && digit === extension_for_transfer);
  const by = isCustomer ? "customer" : "agent";
  return {
    call: pressed,
    events: [published],
    commands: isTransfer ? [{ type: "find_extension", digit, by }] : [],
  };
}
