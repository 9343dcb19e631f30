import { sql, type RawBuilder } from "kysely";
import type { CampaignKey } from "../../../audience/recipients/campaign-key.ts";
import type { Outreach } from "../../../audience/suppressions/suppressions.ts";
import type { Recipient } from "../../../audience/intake/open-intake.ts";
import { identityOf } from "../../../lib/bsuid.ts";
import type { Tx } from "../../../lib/database/database.ts";
import { aliasCount, suppressedCount } from "./affordable-recipients.ts";

/** Stores a few recipients, in order, in one statement. */
export async function insertRecipients(
  tx: Tx,
  { account_id, campaign_id }: CampaignKey,
  recipients: readonly Recipient[],
): Promise<void> {
  const addresses = recipients.map(({ phone }) => identityOf(phone));
  const phones = addresses.map(({ phone }) => phone);
  const bsuids = addresses.map(({ bsuid }) => bsuid);
  const variables = recipients.map((recipient) => recipient.variables);
  await sql`
    insert into chat_recipients (account_id, campaign_id, phone, bsuid, variables)
    select ${account_id}::bigint, ${campaign_id}::bigint, phone, bsuid, variables::jsonb
    from unnest(${phones}::text[], ${bsuids}::text[], ${variables}::text[])
      with ordinality as sent (phone, bsuid, variables, position)
    order by position`.execute(tx);
}

/**
 * Deletes recipients known by a BSUID whose phone, by a webhook's link, is another recipient's or an earlier BSUID's.
 * Returns how many. Each BSUID is a lookup, because the account may have many links; the recipients are hash joined, for
 * the reason below.
 */
export async function removeLinkedDuplicates(
  tx: Tx,
  { account_id, campaign_id }: CampaignKey,
): Promise<number> {
  await setJoins(tx, "off");
  const removed = await sql`
    with linked as materialized (
      select r.id, (
        select b.phone_key from person_bsuids b
        where b.account_id = ${account_id} and b.bsuid = r.bsuid) as phone_key
      from chat_recipients r
      where r.account_id = ${account_id} and r.campaign_id = ${campaign_id} and r.bsuid is not null
    )
    delete from chat_recipients d
    using (
      select r.id, p.id is not null or row_number() over (partition by r.phone_key order by r.id) > 1 as is_duplicate
      from linked r
      left join chat_recipients p on p.account_id = ${account_id} and p.campaign_id = ${campaign_id}
        and phone_key(p.phone) = r.phone_key
      where r.phone_key is not null
    ) l
    where d.account_id = ${account_id} and d.campaign_id = ${campaign_id} and d.id = l.id
      and l.is_duplicate`.execute(tx);
  await setJoins(tx, "on");
  return Number(removed.numAffectedRows ?? 0);
}

/**
 * Deletes recipients who are suppressed, also under an alias of their phone, and returns how many of the `stored` ones
 * were deleted; those known by a BSUID alone are checked when they are sent. The planner
 * has no statistics of new rows and would choose a nested loop (24 s for 1,000 suppressions and
 * 100,000 recipients), so the join is fixed: a lookup per recipient where
 * the suppressions outnumber the recipients four times, otherwise one hash join.
 */
export async function removeSuppressed(
  tx: Tx,
  { account_id, campaign_id }: CampaignKey,
  { stored, is_marketing }: { readonly stored: number } & Pick<Outreach, "is_marketing">,
  now: Date,
): Promise<number> {
  const pass_max = stored * suppressions_a_recipient;
  const suppressions = await suppressedCount(tx, account_id, pass_max + 1, now);
  if (suppressions === 0) return 0;
  const isInForce = sql`s.account_id = ${account_id} and s.channel in ('all', 'chat')
    and (s.scope = 'all' or ${is_marketing}::boolean) and (s.expires_at is null or s.expires_at > ${now})`;
  const isSuppressed = sql`${isInForce} and s.person_key = phone_key(r.phone)`;
  const isOurs = sql`r.account_id = ${account_id} and r.campaign_id = ${campaign_id}`;
  const by_alias = await removeByAlias(tx, account_id, { stored, isInForce, isOurs });
  if (suppressions > pass_max) {
    // PostgreSQL never converts a scalar subquery into a join.
    const removed = await sql`
      delete from chat_recipients r
      where ${isOurs} and (select true from suppressions s where ${isSuppressed} limit 1)`.execute(
      tx,
    );
    return by_alias + Number(removed.numAffectedRows ?? 0);
  }
  await setJoins(tx, "off");
  const removed = await sql`
    delete from chat_recipients r using suppressions s
    where ${isOurs} and ${isSuppressed}`.execute(tx);
  await setJoins(tx, "on");
  return by_alias + Number(removed.numAffectedRows ?? 0);
}

/**
 * Deletes the recipients who are suppressed under an alias of their phone, and returns how many. Looks up the suppression
 * of each of the account's aliases, which are few, or the aliases of each recipient where those are fewer.
 */
async function removeByAlias(
  tx: Tx,
  accountId: number,
  of: {
    readonly stored: number;
    readonly isInForce: RawBuilder<unknown>;
    readonly isOurs: RawBuilder<unknown>;
  },
): Promise<number> {
  const { stored, isInForce, isOurs } = of;
  const aliases = await aliasCount(tx, accountId, stored + 1);
  if (aliases === 0) return 0;
  // PostgreSQL never converts a scalar subquery into a join.
  const isSuppressed = sql`a.account_id = ${accountId} and (
    select true from suppressions s where ${isInForce} and s.person_key = a.alias_key limit 1)`;
  if (aliases > stored) {
    const removed = await sql`
      delete from chat_recipients r
      where ${isOurs} and (
        select true from phone_aliases a
        where a.phone_key = phone_key(r.phone) and ${isSuppressed} limit 1)`.execute(tx);
    return Number(removed.numAffectedRows ?? 0);
  }
  await setJoins(tx, "off");
  const removed = await sql`
    with suppressed as materialized (select a.phone_key from phone_aliases a where ${isSuppressed})
    delete from chat_recipients r using suppressed
    where ${isOurs} and phone_key(r.phone) = suppressed.phone_key`.execute(tx);
  await setJoins(tx, "on");
  return Number(removed.numAffectedRows ?? 0);
}

/** Scanning this many rows costs as much as one lookup. */
const suppressions_a_recipient = 4;

/**
 * Enables or disables all join methods except the hash join, for this transaction. Citus copies SET LOCAL to the node that
 * plans the join, but not set_config. Other databases ignore its setting.
 */
async function setJoins(tx: Tx, state: "on" | "off"): Promise<void> {
  await sql`set local citus.propagate_set_commands = 'local'; set local enable_nestloop = ${sql.lit(state)};
    set local enable_mergejoin = ${sql.lit(state)}`.execute(tx);
}
