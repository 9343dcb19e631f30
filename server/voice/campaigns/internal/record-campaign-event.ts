import type { EventData, EventType } from "../../../engine/event-catalogue.ts";
import { recordEvents, type NewEvent } from "../../../engine/record-event.ts";
import type { Tx } from "../../../lib/database/database.ts";

type CampaignEvent = Extract<EventType, `voice.campaign.${string}`>;
type CampaignIds = EventData<"voice.campaign.started">;

/** News of a campaign; `more` is what its type tells beside which campaign it is. */
export type CampaignNews<Type extends CampaignEvent = CampaignEvent> = {
  [Told in Type]: {
    readonly type: Told;
    readonly more: Readonly<Omit<EventData<Told>, keyof CampaignIds>>;
  };
}[Type];

/** Records news of a campaign, in the transaction of the change and in this order. */
export async function recordCampaignEvents(
  tx: Tx,
  account_id: number,
  campaign: { readonly id: number; readonly public_id: string; readonly name: string },
  news: readonly CampaignNews[],
  now: Date,
): Promise<void> {
  const { id: campaign_id, public_id: id, name } = campaign;
  const events = news.map(({ type, more }) => ({
    account_id,
    type,
    occurred_at: now,
    data: { campaign_id, id, name, ...more },
  }));
  await recordEvents(tx, events as NewEvent[]);
}
