// Validates campaigns that were created earlier against their templates as they are now. A campaign keeps
// the message plan of its creation; if the template has changed meanwhile, the provider would reject it for
// every recipient.
import type { App } from "../../engine/app.ts";
import { statement, type Tx } from "../../lib/database/database.ts";
import { hold, liftHold } from "../holds/holds.ts";
import type { MessagePlan } from "../messages/message-plan.ts";
import { isMediaExpired } from "../messages/media-expiry.ts";
import { planMismatch } from "../messages/plan-mismatch.ts";
import type { BusinessAccount } from "../numbers/schedule-template-sync.ts";
import { plannedTemplateOf, template_columns, type TemplateRow } from "./template-schema.ts";

/** A campaign with its template, whose `id` is the template's. */
type PlannedCampaign = TemplateRow & {
  readonly campaign_id: number;
  readonly plan: MessagePlan;
  readonly planned_at: Date;
  /** Whether the campaign is on hold because its template has changed. */
  readonly is_held: boolean;
};

const planned = `
  select c.id as campaign_id, c.plan, c.created_at as planned_at, ${template_columns.map((name) => `t.${name}`).join(", ")}, exists (
    select from chat_holds h
    where h.account_id = $1 and h.scope = 'campaign' and h.subject_id = c.id
      and h.reason = 'template_changed') as is_held
  from chat_campaigns c
  join chat_templates t on t.account_id = c.account_id and t.id = c.template_id
  where c.account_id = $1 and c.finished_at is null and c.state in ('scheduled', 'running')`;
const plannedOfBusiness = statement<PlannedCampaign>(
  `${planned} and t.driver = $2 and t.business_account_id = $3 order by c.id`,
);
const plannedOfTemplate = statement<PlannedCampaign>(`${planned} and t.id = $2 order by c.id`);
const plannedCampaign = statement<PlannedCampaign>(
  `${planned} and c.id = $2 for no key update of c`,
);

/**
 * Holds every open campaign of a business account whose plan does not fit its template any more, with the
 * reason, and releases those whose plan fits again. Returns the numbers to notify on `chat_work`.
 */
export async function revalidateCampaigns(
  { db, clock }: Pick<App, "db" | "clock">,
  { account_id, driver, business_account_id }: BusinessAccount,
): Promise<readonly number[]> {
  const numberIds = new Set<number>();
  for (const one of await plannedOfBusiness(db.pool, [account_id, driver, business_account_id])) {
    if ((mismatchOf(one, clock.now()) !== null) === one.is_held) continue;
    const key = { account_id, id: one.campaign_id };
    const woken = await db.query.transaction().execute(async (tx) => {
      await lockTemplateOf(tx, key);
      return revalidateCampaign(tx, key, clock.now());
    });
    for (const id of woken) numberIds.add(id);
  }
  return [...numberIds];
}

/**
 * Does the same for the campaigns of one template, which the transaction has locked. Returns the numbers to notify on
 * `chat_work` after the commit. Locks the template's open campaigns if one of them changes.
 */
export async function revalidateCampaignsOf(
  tx: Tx,
  { account_id, template_id }: { readonly account_id: number; readonly template_id: number },
  now: Date,
): Promise<readonly number[]> {
  const campaigns = await plannedOfTemplate(tx, [account_id, template_id]);
  const changed = campaigns.filter((one) => (mismatchOf(one, now) !== null) !== one.is_held);
  if (changed.length === 0) return [];
  // In the order of IDs, and also those that stay: the caller may lift the template's hold next.
  await lockOpenCampaigns(tx, [account_id, template_id]);
  const woken: number[] = [];
  for (const { campaign_id: id } of changed)
    woken.push(...(await revalidateCampaign(tx, { account_id, id }, now)));
  return woken;
}

const lockOpenCampaigns = statement(`
  select from chat_campaigns c
  where c.account_id = $1 and c.template_id = $2 and c.finished_at is null and c.state in ('scheduled', 'running')
  order by c.id
  for no key update`);

type Key = { readonly account_id: number; readonly id: number };

/**
 * Keeps the template of a campaign from changing until the end of the transaction. Lock it before the campaign, as a change
 * of its status does.
 */
export async function lockTemplateOf(tx: Tx, { account_id, id }: Key): Promise<void> {
  await lockTemplate(tx, [account_id, id]);
}

const lockTemplate = statement(`
  select from chat_templates t
  where t.account_id = $1
    and t.id = (select c.template_id from chat_campaigns c where c.account_id = $1 and c.id = $2)
  for share`);

/**
 * Sets or lifts the hold `template_changed` of one open campaign; does nothing for a campaign without a
 * template. Also holds a template that is not approved at the moment, which the provider would refuse: without
 * `lockTemplateOf`, an approval at the same time could lift the hold before it is set. Returns the numbers to notify on
 * `chat_work` after the commit. Locks the campaign.
 */
export async function revalidateCampaign(
  tx: Tx,
  { account_id, id }: Key,
  now: Date,
): Promise<readonly number[]> {
  const [campaign] = await plannedCampaign(tx, [account_id, id]);
  if (!campaign) return [];
  const { id: template_id, status, rejection_reason, is_held } = campaign;
  if (status !== "APPROVED") {
    const template = { account_id, scope: "template", subject_id: template_id } as const;
    const detail = rejection_reason ?? status;
    await hold(tx, { ...template, reason: "template_paused", detail }, now);
  }
  const held = {
    account_id,
    scope: "campaign",
    subject_id: id,
    reason: "template_changed",
  } as const;
  const detail = mismatchOf(campaign, now);
  if (detail !== null) await hold(tx, { ...held, detail }, now);
  if (detail !== null || !is_held) return [];
  return (await liftHold(tx, held, now)).number_ids;
}

function mismatchOf({ plan, planned_at, ...template }: PlannedCampaign, now: Date): string | null {
  if (plan.kind !== "template") return null;
  const { header_media, header_media_at } = template;
  const file = plan.header_media?.id;
  // A file that was replaced since is at least as old as the campaign.
  const isCurrent = file !== undefined && file === (header_media as { id?: string } | null)?.id;
  const uploaded_at = (isCurrent && header_media_at) || planned_at;
  if (file !== undefined && isMediaExpired(uploaded_at, now))
    return "the provider has deleted the header's file, which it keeps for 30 days: upload it again and create the campaign again";
  return planMismatch(plan, plannedTemplateOf(template));
}
