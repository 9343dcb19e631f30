// The person in the CRM: leads with the number and leads of the contact with the number, with their timelines
// and collaborators, and then the contacts.
import { statement } from "../../lib/database/database.ts";
import { change_rows, type Part } from "./part.ts";

const leads_max = 50;

/** Leads and contacts store the last ten digits beside the whole number. */
const ten = 10;

export const erasePeople: Part = ({ person, write }) => {
  const { account_id, erasure_id, spellings } = person;
  const person_values = [
    account_id,
    spellings.map((spelling) => spelling.slice(-ten)),
    spellings.map((spelling) => `+${spelling}`),
  ];
  return write(async (tx) => {
    const found = await findLeads(tx, [...person_values, leads_max]);
    const leads = found.map(({ id }) => id);
    if (leads.length > 0) {
      const lines = await deleteTimeline(tx, [account_id, leads, change_rows]);
      if (lines.length === change_rows) return { at: "leads" };
      await deleteCollaborators(tx, [account_id, leads]);
      const gone = await deleteLeads(tx, [account_id, leads, erasure_id]);
      return { at: "leads", counts: { leads: gone.length } };
    }
    // The lock prevents new leads of these contacts before the commit.
    const contacts = (await lockContacts(tx, person_values)).map(({ id }) => id);
    const gone = await deleteContacts(tx, [account_id, contacts]);
    const is_done = gone.length === contacts.length;
    return { at: is_done ? null : "leads", counts: { contacts: gone.length } };
  });
};

// Locks the leads, so that nothing is added to them. Searches by workspace, as the indexes require.
const findLeads = statement<{ id: number }>(`
  with found as materialized (
    select l.id from workspaces w
    cross join lateral (
      select l.id from leads l
      where l.account_id = $1 and l.workspace_id = w.id
        and l.phone = any ($2::text[]) and l.phone_e164 = any ($3::text[])
      limit $4) l
    where w.account_id = $1
    union
    select l.id from workspaces w
    cross join lateral (
      select c.id from contacts c
      where c.account_id = $1 and c.workspace_id = w.id
        and c.phone = any ($2::text[]) and c.phone_e164 = any ($3::text[])) c
    cross join lateral (
      select l.id from leads l where l.account_id = $1 and l.contact_id = c.id limit $4) l
    where w.account_id = $1
    limit $4
  )
  select l.id from leads l
  where l.account_id = $1 and l.id = any (array(select f.id from found f))
  order by l.id for update`);

const deleteTimeline = statement<{ id: number }>(`
  delete from lead_timeline t
  where t.account_id = $1 and t.id = any (array(
    select o.id from lead_timeline o where o.account_id = $1 and o.lead_id = any ($2::bigint[]) limit $3))
  returning t.id`);

const deleteCollaborators = statement(
  "delete from lead_collaborators where account_id = $1 and lead_id = any ($2::bigint[])",
);

const deleteLeads = statement<{ id: number }>(`
  with deleted as (
    delete from leads where account_id = $1 and id = any ($2::bigint[]) returning id
  )
  insert into erasure_records (account_id, erasure_id, record_id, kind)
  select $1, $3, id, 'lead' from deleted returning record_id as id`);

const lockContacts = statement<{ id: number }>(`
  select c.id from contacts c
  where c.account_id = $1 and c.id = any (array(
    select c.id from workspaces w
    cross join lateral (
      select c.id from contacts c
      where c.account_id = $1 and c.workspace_id = w.id
        and c.phone = any ($2::text[]) and c.phone_e164 = any ($3::text[])) c
    where w.account_id = $1))
  order by c.id for update`);

const deleteContacts = statement<{ id: number }>(`
  delete from contacts c
  where c.account_id = $1 and c.id = any ($2::bigint[])
    and not exists (select from leads l where l.account_id = $1 and l.contact_id = c.id)
  returning c.id`);
