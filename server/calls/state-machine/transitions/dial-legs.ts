// New legs of a call.
import type { Agent, Call, Line } from "../call.ts";
import type { Command } from "../events-and-commands.ts";
import { addLeg } from "../legs.ts";

/** The call with its new legs, and the commands that dial them. */
export type Dialed = { readonly call: Call; readonly commands: readonly Command[] };

/**
 * Dials each agent. The caller ID is the customer's number for an extension, the line's for a phone number and for
 * a customer who withholds the number.
 */
export function dialAgents(
  call: Call,
  line: Line,
  role: "agent" | "transfer",
  agents: readonly Agent[],
  at: Date,
): Dialed {
  const { agent_ring_seconds: ring_seconds } = call.settings;
  let dialed = call;
  const commands = agents.map(({ number, target }): Command => {
    const on_trunk = target.kind === "trunk";
    dialed = addLeg(dialed, { role, number, on_trunk }, at);
    const caller_id = on_trunk ? line.caller_id : call.to_number || line.caller_id;
    return { type: "dial", leg: dialed.legs.length, to: target, caller_id, ring_seconds };
  });
  return { call: dialed, commands };
}

/** Dials the customer; called only once an agent has answered. */
export function dialCustomer(call: Call, line: Line, at: Date): Dialed {
  const leg = { role: "customer", number: call.to_phone, on_trunk: true } as const;
  const dialed = addLeg(call, leg, at);
  const command: Command = {
    type: "dial",
    leg: dialed.legs.length,
    to: line.customer,
    caller_id: line.caller_id,
    ring_seconds: call.settings.customer_ring_seconds,
  };
  return { call: dialed, commands: [command] };
}
