// What people asked of live calls, in the order they asked.
import { takeBackCall } from "../controls/hang-up-call.ts";
import { callName } from "../state-machine/call.ts";
import { findExtensionNumber } from "./find-extension.ts";
import type { Leader } from "./leader.ts";
import { findCommands, removeCommand } from "./leader-statements.ts";

/**
 * Obeys what is there. A command for a call that is over goes without anything being done; one for a
 * call that a predecessor had under way waits until it is taken over.
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
      // A predecessor had only claimed it, and it waits again.
      const call = { account_id, id: call_id };
      await app.db.query.transaction().execute((tx) => takeBackCall(tx, call, at));
    }
    await removeCommand(app.db.pool, [account_id, command.id]);
  }
}
