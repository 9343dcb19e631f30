// Applies the effects of an outcome beyond its recipient: holds, failed campaigns, opt-outs, second addresses.
import { skipDeferredDuplicates } from "../../campaigns/skip-duplicate-people.ts";
import { applyFailureEffect, distinctEffects } from "../../inbound/failure-effects.ts";
import type { Sender } from "./sender.ts";

/**
 * Applies each distinct effect once; returns whether there were any. An effect is kept until it is
 * applied. Before, skips deferred recipients whose people got the message under another address meanwhile: the next
 * statement may mark them again.
 */
export async function applyEffects(sender: Sender): Promise<boolean> {
  const { app, lease, effects, deferred } = sender;
  const checked = [...deferred];
  await skipDeferredDuplicates(app, lease.account_id, checked);
  deferred.splice(0, checked.length);
  if (effects.length === 0) return false;
  for (const effect of distinctEffects(effects)) {
    await app.db.query
      .transaction()
      .execute((tx) => applyFailureEffect(tx, lease.account_id, effect, app.clock.now()));
    const text = JSON.stringify(effect);
    const left = effects.filter((other) => JSON.stringify(other) !== text);
    effects.splice(0, effects.length, ...left);
  }
  return true;
}
