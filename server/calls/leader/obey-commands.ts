// What people asked of live calls, in the order they asked.
import { callName } from "../life/call.ts";
import { findExtensionNumber } from "./find-extension.ts";
import type { Leader } from "./leader.ts";
import { findCommands, removeCommand } from "./leader-statements.ts";
import { transferTo } from "./perform.ts";

/** Obeys what is there; a command for a call that is over goes without anything being done. */
export async function obeyCommands(leader: Leader): Promise<void> {
  const { app, driver, node_id } = leader;
  for (const command of await findCommands(app.db.pool, [node_id])) {
    const { account_id, call_id, kind, target } = command;
    const live = leader.calls.get(callName({ account_id, id: call_id }));
    const at = app.clock.now();
    if (live && kind === "hangup") {
      leader.tell(live, { type: "hangup", reason: "hung_up_by_api", at });
    } else if (live && target !== null) {
      const to = await findExtensionNumber(app.db.query, live.call, target, driver);
      await transferTo(leader, live, to, "api");
    }
    await removeCommand(app.db.pool, [account_id, command.id]);
  }
}
