/** The key of a chat or voice campaign, which is also the prefix of its recipients' keys. */
export type CampaignKey = { readonly account_id: number; readonly campaign_id: number };
