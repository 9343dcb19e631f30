// The hangups and transfers that users request of live calls, in order.
import { cancelIfQueued } from "../../controls/hang-up-call.ts";
import { callName } from "../../state-machine/call.ts";
import { findExtensionNumber } from "../events/find-extension.ts";
import type { Leader } from "../node/leader.ts";
import { findCommands, removeCommand } from "../node/leader-statements.ts";

/**
 * Executes the pending commands. A command for an ended call is deleted without effect; one for a call of
 * a previous node leader waits until the call is taken over.
 */
export async function executeUserCommands(leader: Leader): Promise<void> {
  const { app, driver, node_id } = leader;
  for (const command of await findCommands(app.db.pool, [node_id])) {
    const { account_id, call_id, kind, target, stage } = command;
    const live = leader.calls.get(callName({ account_id, id: call_id }));
    const at = app.clock.now();
    if (!live && stage !== "queued" && stage !== "ended") continue;
    if (live && kind === "hangup") {
      leader.dispatch(live, { type: "hangup", reason: "hung_up_by_api", at });
    } else if (live && target !== null) {
      const to = await findExtensionNumber(app.db.query, live.call, target, driver);
      leader.dispatch(live, { type: "transfer_requested", by: "api", to, at });
    } else if (stage === "queued" && kind === "hangup") {
      // A previous node leader had only claimed the call, and it is queued again.
      const call = { account_id, id: call_id };
      await app.db.query.transaction().execute((tx) => cancelIfQueued(tx, call, at));
    }
    await removeCommand(app.db.pool, [account_id, command.id]);
  }
}
