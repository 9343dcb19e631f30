// Applies the effects of an outcome beyond its recipient: holds, failed campaigns, opt-outs.
import type { Tx } from "../../../lib/database/database.ts";
import type { Action } from "../../messages/error-actions.ts";
import { failCampaign } from "../../campaigns/fail-campaign.ts";
import { hold } from "../../holds/holds.ts";
import { optOutAtProvider } from "../../inbound/opt-out-at-provider.ts";
import { setTemplateStatus } from "../../templates/set-template-status.ts";
import type { Effect, Sender } from "./sender.ts";
import type { Marked } from "./sender-statements.ts";

/** Returns the effects of a failed attempt beyond its recipient. */
export function effectsOf(sender: Sender, marked: Marked, action: Action): Effect[] {
  const { campaign_id, phone } = marked;
  const effects: Effect[] = [];
  if (action.hold) {
    const { scope, reason } = action.hold;
    const template_id = sender.campaigns.get(campaign_id)?.latest.template_id ?? null;
    const subject_id = { template: template_id, number: sender.number_id, account: 0 }[scope];
    if (subject_id !== null)
      effects.push({ kind: "hold", scope, subject_id, reason, detail: null });
  }
  if (action.fail_campaign)
    effects.push({ kind: "fail_campaign", campaign_id, failure: action.error });
  if (action.suppress) effects.push({ kind: "suppress", phone });
  return effects;
}

/**
 * Applies each distinct effect once; returns whether there were any. An effect is kept until it is
 * applied.
 */
export async function applyEffects(sender: Sender): Promise<boolean> {
  const { effects } = sender;
  if (effects.length === 0) return false;
  const distinct = new Map(effects.map((effect) => [JSON.stringify(effect), effect]));
  for (const [text, effect] of distinct) {
    await applyEffect(sender, effect);
    const left = effects.filter((other) => JSON.stringify(other) !== text);
    effects.splice(0, effects.length, ...left);
  }
  return true;
}

async function applyEffect(sender: Sender, effect: Effect): Promise<void> {
  const { app, lease, number_id } = sender;
  const now = app.clock.now();
  const { account_id } = lease;
  await app.db.query.transaction().execute(async (tx) => {
    switch (effect.kind) {
      case "hold":
        return holdBack(tx, account_id, effect, now);
      case "fail_campaign":
        return failCampaign(tx, account_id, effect.campaign_id, effect.failure, now);
      case "suppress":
        return optOutAtProvider(
          tx,
          { account_id, phone: effect.phone, chat_number_id: number_id },
          "The provider says that this customer opted out",
          now,
        );
    }
  });
}

/** Holds a template as if the provider's webhook had arrived first: it is shown as paused. */
async function holdBack(
  tx: Tx,
  account_id: number,
  { scope, subject_id, reason, detail }: Effect & { kind: "hold" },
  now: Date,
): Promise<void> {
  if (reason === "template_paused")
    await setTemplateStatus(tx, { account_id, template_id: subject_id }, { status: "PAUSED" }, now);
  else await hold(tx, { account_id, scope, subject_id, reason, detail }, now);
}
