import type { Fixture, Name } from "./fixture.ts";
import { requests, timeEach, type Timings } from "./timing.ts";

const day_ms = 86_400_000;

/** Measures lists, filters, searches and reports over HTTP, first pages of 50. */
export async function measureReads(
  fixture: Fixture,
  name: Name,
  samples: number,
): Promise<Timings> {
  const { workspace_id, campaign_id } = fixture.account(name);
  const send = requests(fixture, name);
  const from = new Date(Date.now() - 30 * day_ms).toISOString();
  const to = new Date().toISOString();
  const crm = `/crm/workspaces/${workspace_id}`;
  const paths: Readonly<Record<string, string>> = {
    "list: leads": `${crm}/leads`,
    "list: contacts": `${crm}/contacts`,
    "list: chat campaigns": "/chat/campaigns",
    "list: recipients": `/chat/campaigns/${campaign_id}/recipients`,
    "list: calls": "/calls",
    "list: deliveries": "/callbacks/deliveries",
    "list: ledger": "/credits/ledger",
    "list: audit trail": "/audit",
    "filter: leads by phone": `${crm}/leads?phone=6000000101`,
    "filter: recipients by state, rare": `/chat/campaigns/${campaign_id}/recipients?error=none`,
    "filter: calls by state": "/calls?status=no-answer",
    "filter: calls by reference, rare": "/calls?reference=old",
    "filter: calls by number": "/calls?number=6000000101",
    "filter: failed deliveries": "/callbacks/deliveries?state=failed",
    "filter: audit trail by action, rare": "/audit?action=role.created",
    "search: leads, found": `${crm}/leads?q=person17`,
    "search: leads, not found": `${crm}/leads?q=none`,
    "search: contacts, not found": `${crm}/contacts?q=none`,
    "search: people": "/people?q=Person%2017",
    "a person's timeline": "/people/timeline?phone_number=916000000101",
    "report: messages, 30 days": `/reports/chat?group_by=day&from=${from}&to=${to}`,
    "report: calls, 30 days": `/reports/calls?group_by=day&from=${from}&to=${to}`,
    overview: "/overview",
    credits: "/credits",
  };
  const works = Object.entries(paths).map(
    ([what, path]) => [what, () => send("GET", path)] as const,
  );
  return timeEach(Object.fromEntries(works), samples);
}
