// The hangups and transfers that users request of live calls, in order.
import { cancelIfQueued } from "../../controls/hang-up-call.ts";
import { callName } from "../../state-machine/call.ts";
import type { CallEvent } from "../../state-machine/events-and-commands.ts";
import { findExtensionNumber } from "../events/find-extension.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { findCommands, removeCommand, type UserCommand } from "../node/leader-statements.ts";

/**
 * Executes the pending commands. Each is dispatched to its call once, and deleted only after the call has stored the
 * event, because the next node leader executes it if this one stops before. A command for an ended call is deleted
 * without effect; one for a call of a previous node leader waits until the call is taken over.
 */
export async function executeUserCommands(leader: Leader): Promise<void> {
  const { app, node_id, commands } = leader;
  const unhandled = [...commands].flatMap(([id, isHandled]) => (isHandled ? [] : [id]));
  for (const command of await findCommands(app.db.pool, [node_id, unhandled])) {
    const { account_id, call_id, id, kind, stage } = command;
    const live = leader.calls.get(callName({ account_id, id: call_id }));
    if (!commands.has(id)) {
      if (live) {
        dispatchCommand(leader, live, id, await eventOf(leader, live, command));
        continue;
      }
      if (stage !== "queued" && stage !== "ended") continue;
      // A previous node leader had only claimed the call, and it is queued again.
      if (stage === "queued" && kind === "hangup") {
        const call = { account_id, id: call_id };
        const now = app.clock.now();
        await app.db.query.transaction().execute((tx) => cancelIfQueued(tx, call, now));
      }
    }
    await removeCommand(app.db.pool, [account_id, id]);
    commands.delete(id);
  }
}

async function eventOf(
  { app, driver }: Leader,
  { call }: LiveCall,
  { kind, target }: UserCommand,
): Promise<CallEvent> {
  if (kind === "hangup") return { type: "hangup", reason: "hung_up_by_api", at: app.clock.now() };
  const to = target === null ? null : await findExtensionNumber(app.db.query, call, target, driver);
  return { type: "transfer_requested", by: "api", to, at: app.clock.now() };
}

function dispatchCommand(leader: Leader, live: LiveCall, id: number, event: CallEvent): void {
  leader.commands.set(id, false);
  leader.dispatch(live, event);
  live.pending = live.pending.then(() => finishCommand(leader, live, id));
}

/** Marks a command for deletion, unless its call was released before it stored the event. */
function finishCommand(leader: Leader, live: LiveCall, id: number): void {
  const { commands, calls } = leader;
  const isReleased = calls.get(callName(live.call)) !== live && live.call.stage !== "ended";
  // The next node leader handles the call and the command.
  if (isReleased || !leader.lease.mayProceed()) return void commands.delete(id);
  commands.set(id, true);
  leader.notifyCommand();
}
