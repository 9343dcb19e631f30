// Records a missed call on the leads of the person who called.
import type { App } from "../../engine/app.ts";
import type { Job } from "../../engine/work-jobs.ts";
import { statement } from "../../lib/database/database.ts";
import { e164, tenDigitsOfPhone } from "../../lib/phone-numbers.ts";
import { addTimelineEntry } from "./internal/record-lead-change.ts";

type MissedCall = { readonly phone: string; readonly called_number: string; readonly at: string };

/** The newest lead of a phone in each active workspace, unless its timeline has the call. */
const findLeads = statement<{ workspace_id: number; lead_id: number }>(`
  select w.id as workspace_id, l.id as lead_id
  from workspaces w
  cross join lateral (
    select l.id from leads l
    where l.account_id = $1 and l.workspace_id = w.id and l.phone = $2 and l.phone_e164 = $4
    order by l.id desc limit 1) l
  where w.account_id = $1 and w.active and not exists (
    select from lead_timeline t
    where t.account_id = $1 and t.lead_id = l.id and t.kind = 'missed_call' and t.at = $3)`);

const findCountryCode = statement<{ country_code: string }>(
  "select country_code from accounts where account_id = $1",
);

/**
 * The job crm.record_missed_call: adds the call to the timeline of the newest lead with the phone, in each active
 * workspace. A person without a lead is only in the event call.missed.
 */
export async function recordMissedCall(
  app: Pick<App, "db">,
  { account_id, payload }: Pick<Job, "account_id" | "payload">,
): Promise<void> {
  const { phone, called_number, at } = payload as MissedCall;
  const [account] = await findCountryCode(app.db.pool, [account_id]);
  if (!account) return;
  const { country_code } = account;
  const digits = tenDigitsOfPhone(phone, country_code);
  if (digits === null) return;
  const leads = await findLeads(app.db.pool, [account_id, digits, at, e164(digits, country_code)]);
  await app.db.query.transaction().execute(async (tx) => {
    for (const lead of leads) {
      // Not the phone: an erasure would not find it on a lead that has another one now.
      const data = { calledNumber: called_number };
      const entry = { kind: "missed_call", at: new Date(at), user_id: null, data };
      await addTimelineEntry(tx, { account_id, ...lead }, entry);
    }
  });
}
