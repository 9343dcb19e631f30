// Executes the commands of a stored transition, at the switch and in this process.
import { callName, legName } from "../../state-machine/call.ts";
import type { Command } from "../../state-machine/events-and-commands.ts";
import { startDialing } from "./dial-leg.ts";
import { askToAccept } from "./ask-to-accept.ts";
import { executeVoiceCommand } from "./execute-voice-command.ts";
import { recordCall } from "./record-call.ts";
import { findExtension } from "../events/find-extension.ts";
import { isNodeLost, type Leader, type LiveCall } from "../node/leader.ts";

/** How soon calls are reconciled after a failed request. */
const reconcile_ms = 500;

/**
 * Executes the commands in order; dialing continues in the background. Failed commands are repeated after
 * the next reconciliation with the switch. Starts no command once the lease may have expired or the node is
 * lost.
 */
export async function executeCommands(
  leader: Leader,
  live: LiveCall,
  commands: readonly Command[],
): Promise<void> {
  for (const command of commands) {
    if (!leader.lease.mayProceed() || isNodeLost(leader)) return;
    try {
      await executeCommand(leader, live, command);
    } catch (error) {
      const at = { account_id: live.call.account_id, call_id: live.call.id, err: error };
      leader.app.log.warn(at, `a call's command failed: ${command.type}`);
      live.needs_resume = true;
      leader.reconcileIn(reconcile_ms);
    }
  }
}

async function executeCommand(leader: Leader, live: LiveCall, command: Command): Promise<void> {
  const { app, session } = leader;
  const { call } = live;
  const nameOf = (id: number) => legName(call, { id });
  switch (command.type) {
    case "dial":
      return startDialing(leader, live, command);
    case "answer":
      return session.answer(call.channel!, nameOf(command.leg));
    case "hang_up":
      return hangUp(leader, live, command.leg);
    case "ask_to_accept":
      return askToAccept(leader, live, command.leg);
    case "ringback":
      return session.ringback(nameOf(command.leg));
    case "stop_ringback":
      return session.stopRingback(nameOf(command.leg));
    case "bridge":
      return session.bridge(callName(call), command.legs.map(nameOf));
    case "record":
      return recordCall(leader, live);
    case "end_bridge":
      return session.endBridge(callName(call));
    case "find_extension": {
      const to = await findExtension(app.db.query, call, command.digit);
      const { by } = command;
      return leader.dispatch(live, { type: "transfer_requested", by, to, at: app.clock.now() });
    }
    default:
      return executeVoiceCommand(leader, live, command);
  }
}

/** Hangs up a leg; a leg that is being dialed is canceled, or hung up once it is at the switch. */
async function hangUp(leader: Leader, live: LiveCall, leg: number): Promise<void> {
  const dialing = live.dialing.get(leg);
  if (!dialing) return leader.session.hangUp(legName(live.call, { id: leg }));
  dialing.give_up.abort();
  void dialing.done
    .then(() => leader.session.hangUp(legName(live.call, { id: leg })))
    .catch(() => {
      live.needs_resume = true;
      leader.reconcileIn(reconcile_ms);
    });
}
