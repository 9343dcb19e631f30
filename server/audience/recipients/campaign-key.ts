/** The key of a campaign, of chat or voice; its rows are under it. */
export type CampaignKey = { readonly account_id: number; readonly campaign_id: number };
