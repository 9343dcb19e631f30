import type { AccountDestinations } from "../../../accounts/accounts/call-destinations.ts";
import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import { phoneKey } from "../../../lib/phone-key.ts";
import { contactTimeZones, type CustomerHours } from "../../customer-hours.ts";
import type { Call } from "../../state-machine/call.ts";

/** What can change between the claim of a call and the dial of its customer. */
export type CustomerNow = CustomerHours &
  AccountDestinations & {
    readonly is_suppressed: boolean;
    /** Another live call has the customer: they called in meanwhile. */
    readonly is_taken: boolean;
    /** The call's campaign is running and not paused; false for a click-to-call. */
    readonly is_campaign_open: boolean;
  };

const findCustomer = statement<CustomerNow>(`
  select a.time_zone, a.night_calling, a.calling_from, a.calling_to, a.country_code,
    a.call_destinations_allowed as destinations_allowed, a.call_destinations as destinations,
    ${contactTimeZones("$1", "$6")} as contact_time_zones,
    exists (
      select from suppressions s
      where s.account_id = $1 and s.person_key = $2 and s.channel in ('all', 'voice')
        and (s.expires_at is null or s.expires_at > $3)) as is_suppressed,
    exists (
      select from live_customers l
      where l.account_id = $1 and l.phone_key = $2 and l.call_id <> $4) as is_taken,
    exists (
      select from voice_campaigns v
      where v.account_id = $1 and v.id = $5 and v.state = 'running'
        and not exists (
          select from voice_holds h where h.account_id = $1 and h.campaign_id = $5)) as is_campaign_open
  from accounts a where a.account_id = $1`);

/** Reads in one statement what decides whether the call's customer may be dialed at `now`. */
export async function readCustomer(
  { db }: Pick<App, "db">,
  { account_id, id, campaign_id, to_phone }: Call,
  now: Date,
): Promise<CustomerNow> {
  const values = [account_id, phoneKey(to_phone), now, id, campaign_id, to_phone];
  const [customer] = await findCustomer(db.pool, values);
  return customer!;
}
