// The links of user IDs whose people a campaign may reach twice.
import type { CampaignKey } from "../../audience/recipients/campaign-key.ts";
import type { BsuidLink } from "../../audience/suppressions/link-bsuids.ts";
import { statement, type Executor } from "../../lib/database/database.ts";
import { phoneKey } from "../../lib/phone-key.ts";

// A scalar subquery stays a look-up by the index; the planner has no statistics of new recipients.
const findOfCampaign = statement<BsuidLink>(`
  with linked as materialized (
    select r.bsuid, (
      select b.phone_key from person_bsuids b where b.account_id = $1 and b.bsuid = r.bsuid) as phone
    from chat_recipients r
    where r.account_id = $1 and r.campaign_id = $2 and r.bsuid is not null
  ), people as materialized (
    select bsuid, phone, count(*) over (partition by phone) as addresses from linked where phone is not null
  )
  select p.bsuid, p.phone from people p
  where p.addresses > 1 or (
    select true from chat_recipients r
    where r.account_id = $1 and r.campaign_id = $2 and r.phone = any (phone_spellings(p.phone)) limit 1)`);

/** Returns the links of people who have several addresses in a campaign. */
export async function findSharedLinks(
  db: Executor,
  { account_id, campaign_id }: CampaignKey,
): Promise<BsuidLink[]> {
  return findOfCampaign(db, [account_id, campaign_id]);
}

// Most campaigns list no user IDs.
const findWithBsuids = statement<{ readonly campaign_id: number }>(`
  select c.id as campaign_id from chat_campaigns c
  cross join lateral (
    select true from chat_recipients r
    where r.account_id = $1 and r.campaign_id = c.id and r.bsuid is not null limit 1) r
  where c.account_id = $1 and c.id = any ($2::bigint[])`);

const findAddresses = statement<{ readonly phone: string | null; readonly bsuid: string | null }>(`
  select phone, bsuid from chat_recipients
  where account_id = $1 and campaign_id = any ($2::bigint[]) and id = any ($3::bigint[])`);

const findByAddress = statement<BsuidLink>(`
  select bsuid, phone_key as phone from person_bsuids
  where account_id = $1 and phone_key is not null and (bsuid = any ($2::text[]) or phone_key = any ($3::text[]))`);

/** Returns the links of a few recipients; none for a campaign without user IDs, which has no second addresses. */
export async function findLinksOf(
  db: Executor,
  accountId: number,
  recipients: readonly { readonly campaign_id: number; readonly id: number }[],
): Promise<BsuidLink[]> {
  const listed = [...new Set(recipients.map(({ campaign_id }) => campaign_id))];
  if (listed.length === 0) return [];
  const found = await findWithBsuids(db, [accountId, listed]);
  if (found.length === 0) return [];
  const campaigns = new Set(found.map(({ campaign_id }) => campaign_id));
  const ids = recipients.filter((one) => campaigns.has(one.campaign_id)).map(({ id }) => id);
  const addresses = await findAddresses(db, [accountId, [...campaigns], ids]);
  const bsuids = addresses.flatMap(({ bsuid }) => bsuid ?? []);
  const phones = addresses.flatMap(({ phone }) => (phone ? phoneKey(phone) : []));
  return findByAddress(db, [accountId, bsuids, phones]);
}
