import type { Call } from "../../state-machine/call.ts";
import type { Leader } from "../node/leader.ts";
import { retryUntilStored } from "../node/retry-until-stored.ts";
import { suppressCaller } from "./apply-side-effects.ts";

/** Records the opt-out of a caller whose call has ended; a call of the recipient that waits is skipped. */
export async function recordLateOptOut(leader: Leader, call: Call): Promise<void> {
  const { app } = leader;
  await retryUntilStored(leader, () =>
    app.db.query.transaction().execute(async (tx) => {
      await tx
        .updateTable("calls")
        .set({ opted_out: true })
        .where("account_id", "=", call.account_id)
        .where("id", "=", call.id)
        .execute();
      await suppressCaller(tx, call, null, app.clock.now());
    }),
  );
}
