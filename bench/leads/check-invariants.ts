import { setTimeout as wait } from "node:timers/promises";
import type { Fixture } from "./fixture.ts";

/** Counts all leads. */
export async function countLeads(fixture: Fixture): Promise<number> {
  const { rows } = await fixture.db.query<{ count: number }>("select count(*)::int from leads");
  return rows[0]?.count ?? 0;
}

/**
 * Waits until nothing is in flight; throws unless `answered` leads were created since `before`, plus at
 * most `cut_max` of requests that were cut off, and exactly as many as the service counted.
 */
export async function checkCreated(
  fixture: Fixture,
  before: { readonly leads: number; readonly counted: number },
  answered: number,
  cut_max: number,
): Promise<void> {
  let counted = -1;
  for (let now = await createdCount(fixture); now !== counted; now = await createdCount(fixture)) {
    counted = now;
    await wait(100);
  }
  const made = (await countLeads(fixture)) - before.leads;
  if (made < answered || made > answered + cut_max || made !== counted - before.counted) {
    const own = counted - before.counted;
    throw new Error(
      `${answered} leads were acknowledged, ${own} counted by the service, ${made} created`,
    );
  }
}

/** Returns the service's counter of created leads. */
export async function createdCount(fixture: Fixture): Promise<number> {
  // The service answers with figures that may be a second old.
  await wait(1_000);
  const { text } = await fixture.service.send("GET", "/metrics");
  return Number(/^trunkline_leads_created_total (\d+)$/m.exec(text)?.[1]);
}

/** Throws unless each phone has one contact, and each lead has its contact, one timeline entry and one event. */
export async function checkInvariants(fixture: Fixture): Promise<void> {
  for (const [violation, sql] of Object.entries(violations)) {
    const { rows } = await fixture.db.query<{ count: number }>(sql);
    if (rows[0]?.count !== 0) throw new Error(`${rows[0]?.count} x ${violation}`);
  }
}

const violations = {
  "a phone with several contacts": `select count(*)::int from (
    select from contacts group by account_id, workspace_id, phone having count(*) > 1) c`,
  "a lead whose contact has another phone": `select count(*)::int from leads l
    left join contacts c on c.account_id = l.account_id and c.id = l.contact_id and c.phone = l.phone
    where c.id is null`,
  "a lead without exactly one timeline entry": `select count(*)::int from leads l
    full join (select account_id, lead_id, count(*) as entries from lead_timeline group by 1, 2) t
      on t.account_id = l.account_id and t.lead_id = l.id
    where l.id is null or t.entries is distinct from 1`,
  "a lead without exactly one event": `select count(*)::int from leads l
    full join (select account_id, (data ->> 'id')::bigint as lead_id, count(*) as events
      from events where type = 'lead.created' group by 1, 2) e
      on e.account_id = l.account_id and e.lead_id = l.id
    where l.id is null or e.events is distinct from 1`,
};
