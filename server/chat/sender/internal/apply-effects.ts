// Applies the effects of an outcome beyond its recipient: holds, failed campaigns, opt-outs.
import { applyFailureEffect, distinctEffects } from "../../inbound/failure-effects.ts";
import type { Sender } from "./sender.ts";

/**
 * Applies each distinct effect once; returns whether there were any. An effect is kept until it is
 * applied.
 */
export async function applyEffects(sender: Sender): Promise<boolean> {
  const { app, lease, effects } = sender;
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
