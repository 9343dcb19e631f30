import type { EventData, EventType } from "../../../engine/event-catalogue.ts";
import { recordEvents, type NewEvent } from "../../../engine/record-event.ts";
import type { Tx } from "../../../lib/database/database.ts";

type CampaignEvent = Extract<EventType, `voice.campaign.${string}`>;
type CampaignIds = EventData<"voice.campaign.started">;

/** A campaign event to record; `data` excludes the fields that identify the campaign. */
export type NewCampaignEvent<Type extends CampaignEvent = CampaignEvent> = {
  [One in Type]: {
    readonly type: One;
    readonly data: Readonly<Omit<EventData<One>, keyof CampaignIds>>;
  };
}[Type];

/** Records events of a campaign in this order, in the transaction of the change. */
export async function recordCampaignEvents(
  tx: Tx,
  account_id: number,
  campaign: { readonly id: number; readonly public_id: string; readonly name: string },
  campaignEvents: readonly NewCampaignEvent[],
  now: Date,
): Promise<void> {
  const { id: campaign_id, public_id: id, name } = campaign;
  const events = campaignEvents.map(({ type, data }) => ({
    account_id,
    type,
    occurred_at: now,
    data: { campaign_id, id, name, ...data },
  }));
  await recordEvents(tx, events as NewEvent[]);
}
