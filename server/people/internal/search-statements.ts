// The statements of the search for people. Each reads a bounded number of rows, whatever the account has.
import { CompiledQuery, type Kysely } from "kysely";
import type { DB } from "../../lib/database/database.ts";
import { leads_counted_max, type FoundIn } from "../person-schema.ts";
import type { Part } from "../people-access.ts";

export const people_max = 10;
/** The newest rows of each table among which text and last digits are searched: no index has them. */
const searched_rows = 5_000;
const groups_max = 500;
/** Campaigns in which messages that did not arrive are looked up: no index has their numbers. */
export const campaigns_max = 200;
/** Leads, contacts or members that match: several may be of one person. */
const matching_rows = 50;

type Search = readonly [part: Part, text: string];

/** Expects $1 account, $2 and $3 the first and last E.164 digits of the prefix. Steps from number to number. */
const distinctPhones = (part: Part, table: string, column: string, condition = "true"): Search => [
  part,
  `with recursive found as (
    (select t.${column} as phone from ${table} t
      where t.account_id = $1 and t.${column} >= $2 and t.${column} <= $3 and ${condition}
      order by t.${column} limit 1)
    union all
    select (select t.${column} from ${table} t
      where t.account_id = $1 and t.${column} > f.phone and t.${column} <= $3 and ${condition}
      order by t.${column} limit 1)
    from found f where f.phone is not null
  )
  select f.phone from found f where f.phone is not null limit ${people_max}`,
];

const by_prefix: readonly Search[] = [
  distinctPhones(
    "messages",
    "chat_recipients",
    "phone",
    "t.accepted_at is not null and t.state in ('delivered', 'read')",
  ),
  distinctPhones("messages", "chat_replies", "phone"),
  distinctPhones("calls", "calls", "to_phone"),
  distinctPhones("suppressions", "suppressions", "person_key"),
];

/** Expects $1 account, $2 and $3 the first and last ten digits. */
const crm_by_prefix = `
  select f.phone from workspaces w
  cross join lateral (
    (select substr(c.phone_e164, 2) as phone from contacts c
      where c.account_id = $1 and c.workspace_id = w.id and c.phone >= $2 and c.phone <= $3
      order by c.phone limit ${people_max})
    union
    (select substr(l.phone_e164, 2) from leads l
      where l.account_id = $1 and l.workspace_id = w.id and l.phone >= $2 and l.phone <= $3
      order by l.phone limit ${matching_rows})) f
  where w.account_id = $1 and w.active
  order by f.phone limit ${people_max}`;

/** Expects $1 account. */
const newest_campaigns = `newest_campaigns as materialized (
  select c.id from chat_campaigns c where c.account_id = $1 order by c.id desc limit ${campaigns_max})`;
/** Messages of the newest campaigns to a whole number, whatever became of them. */
const inNewestCampaigns = (spellings: string) => `
  select r.phone from newest_campaigns c cross join unnest(${spellings}) s (phone)
  join chat_recipients r on r.account_id = $1 and r.campaign_id = c.id and r.phone = s.phone
  limit 1`;
/** Expects $1 account, $2 the phone. */
const messages_by_phone = `with ${newest_campaigns} ${inNewestCampaigns("array[$2::text]")}`;

/** Expects $1 account. */
const newest_groups = `
  select g.id from groups g where g.account_id = $1 and g.deleted_at is null order by g.id desc limit ${groups_max}`;
/** Expects $1 account, $2 the phone. */
const members_by_phone = `
  select m.phone from (${newest_groups}) g
  join group_members m on m.account_id = $1 and m.group_id = g.id and m.phone_key = phone_key($2)
  limit 1`;

/** Expects $1 account, $2 what the condition expects. */
const inCrm = (table: "leads" | "contacts", condition: string): Search => [
  "leads",
  `select substr(t.phone_e164, 2) as phone from (
    select t.id, t.phone_e164, t.name, t.email, t.workspace_id from ${table} t
    where t.account_id = $1 order by t.id desc limit ${searched_rows}) t
  join workspaces w on w.account_id = $1 and w.id = t.workspace_id and w.active
  where ${condition}
  order by t.id desc limit ${matching_rows}`,
];
const inGroups = (condition: string): Search => [
  "groups",
  `select t.phone from (
    select t.id, t.phone, t.name, t.group_id from group_members t
    where t.account_id = $1 order by t.id desc limit ${searched_rows}) t
  join groups g on g.account_id = $1 and g.id = t.group_id and g.deleted_at is null
  where ${condition}
  order by t.id desc limit ${matching_rows}`,
];
/** Of one person there may be any number of rows. */
const byLastDigits = (part: Part, table: string, column: string, order: string): Search => [
  part,
  `select t.phone from (
    select t.${column} as phone, t.${order} as newest from ${table} t
    where t.account_id = $1 order by t.${order} desc limit ${searched_rows}) t
  where t.phone like '%' || $2
  group by t.phone order by max(t.newest) desc limit ${people_max}`,
];

const name_or_email = "t.name ilike $2 or t.email ilike $2";
const by_text: readonly Search[] = [
  inCrm("leads", name_or_email),
  inCrm("contacts", name_or_email),
  inGroups("t.name ilike $2"),
];
const last_digits = "t.phone_e164 like '%' || $2";
const by_last_digits: readonly Search[] = [
  inCrm("leads", last_digits),
  inCrm("contacts", last_digits),
  inGroups("t.phone like '%' || $2"),
  byLastDigits("messages", "chat_replies", "phone", "id"),
  byLastDigits("calls", "calls", "to_phone", "queued_at"),
];

/** What is known of a number; a name or email is null without the permission. */
export type PersonRow = {
  readonly phone: string;
  readonly lead_name: string | null;
  readonly lead_email: string | null;
  readonly contact_name: string | null;
  readonly contact_email: string | null;
  readonly member_name: string | null;
  readonly leads: number;
} & Readonly<Record<`in_${Exclude<FoundIn, "leads">}`, boolean>>;

/** Expects $1 account, $2 the phones, $3 the ILIKE pattern of the search: of several leads it names the one that matches. */
const describe_people = `
  with ${newest_campaigns}
  select p.phone, l.name as lead_name, l.email as lead_email, n.leads, c.name as contact_name,
    c.email as contact_email, m.name as member_name, c.name is not null as in_contacts,
    m.found is not null as in_groups,
    exists (select from chat_recipients r where r.account_id = $1 and r.phone = any (p.spellings)
      and r.accepted_at is not null and r.state in ('delivered', 'read'))
      or exists (${inNewestCampaigns("p.spellings")}) as in_messages,
    exists (select from chat_replies r where r.account_id = $1 and r.phone = any (p.spellings)) as in_replies,
    exists (select from calls c where c.account_id = $1 and c.to_phone = any (p.spellings)) as in_calls,
    exists (select from suppressions s where s.account_id = $1 and s.person_key = phone_key(p.phone)
      and s.lifted_at is null) as in_suppressions
  from (select phone, phone_spellings(phone) as spellings from unnest($2::text[]) u (phone)) p
  cross join lateral (
    select count(*)::int as leads from (
      select from unnest(p.spellings) s (phone) cross join workspaces w
      join leads l on l.account_id = $1 and l.workspace_id = w.id
        and l.phone = right(s.phone, 10) and l.phone_e164 = '+' || s.phone
      where w.account_id = $1 and w.active limit ${leads_counted_max}) l) n
  left join lateral (
    select l.name, l.email from unnest(p.spellings) s (phone) cross join workspaces w
    cross join lateral (
      select l.id, l.name, l.email from leads l
      where l.account_id = $1 and l.workspace_id = w.id and l.phone = right(s.phone, 10)
        and l.phone_e164 = '+' || s.phone
      order by l.id desc limit ${leads_counted_max}) l
    where w.account_id = $1 and w.active
    order by coalesce(l.name ilike $3 or l.email ilike $3, false) desc, l.id desc limit 1) l on true
  left join lateral (
    select c.name, c.email from unnest(p.spellings) s (phone) cross join workspaces w
    join contacts c on c.account_id = $1 and c.workspace_id = w.id
      and c.phone = right(s.phone, 10) and c.phone_e164 = '+' || s.phone
    where w.account_id = $1 and w.active order by c.id desc limit 1) c on true
  left join lateral (
    select m.name, true as found from (${newest_groups}) g
    join group_members m on m.account_id = $1 and m.group_id = g.id and m.phone_key = phone_key(p.phone)
    order by m.name is null, m.id desc limit 1) m on true`;

async function rowsOf<Row>(db: Kysely<DB>, text: string, values: readonly unknown[]) {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(text, [...values]));
  return rows;
}

/** A prefix of E.164 digits, its national part if it is of the account's country, and whether it may be a whole number. */
export type Prefix = { readonly digits: string; readonly national: string | null };

/** Returns numbers (E.164 digits) that begin with the prefix, of each part at most ten. */
export async function findByPrefix(
  db: Kysely<DB>,
  accountId: number,
  visible: ReadonlySet<Part>,
  { digits, national }: Prefix,
): Promise<string[]> {
  const found: string[] = [];
  const add = async (text: string, values: readonly unknown[]) => {
    const rows = await rowsOf<{ phone: string }>(db, text, [accountId, ...values]);
    found.push(...rows.map(({ phone }) => phone));
  };
  if (visible.has("leads") && national !== null && national.length <= 10) {
    await add(crm_by_prefix, [national.padEnd(10, "0"), national.padEnd(10, "9")]);
  }
  for (const [part, text] of by_prefix) {
    if (visible.has(part)) await add(text, [digits, digits.padEnd(15, "9")]);
  }
  if (visible.has("messages")) await add(messages_by_phone, [digits]);
  if (visible.has("groups")) await add(members_by_phone, [digits]);
  return found;
}

/** Returns numbers (E.164 digits) of the newest leads, contacts and group members whose name or email matches the pattern. */
export const findByText = newestFinder(by_text);
/** Returns numbers (E.164 digits) that end in the digits, of the newest leads, contacts, group members, replies and calls. */
export const findByLastDigits = newestFinder(by_last_digits);

function newestFinder(statements: readonly Search[]) {
  return async (
    db: Kysely<DB>,
    accountId: number,
    visible: ReadonlySet<Part>,
    value: string,
  ): Promise<string[]> => {
    const found: string[] = [];
    for (const [part, text] of statements) {
      if (!visible.has(part)) continue;
      const rows = await rowsOf<{ phone: string }>(db, text, [accountId, value]);
      found.push(...rows.map(({ phone }) => phone));
    }
    return found;
  };
}

/** Returns what is known of each number; the pattern is that of a search for text. */
export function describePeople(
  db: Kysely<DB>,
  accountId: number,
  phones: readonly string[],
  pattern: string | null,
) {
  return rowsOf<PersonRow>(db, describe_people, [accountId, [...phones], pattern]);
}
