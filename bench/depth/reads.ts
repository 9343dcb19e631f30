import type { Fixture, Name } from "./fixture.ts";
import { requests, timeEach, type Timings } from "./timing.ts";

const day_ms = 86_400_000;

/** Measures lists, filters, searches, reports and the first bytes of exports over HTTP; pages are first pages of 50. */
export async function measureReads(
  fixture: Fixture,
  name: Name,
  samples: number,
): Promise<Timings> {
  const { workspace_id, owner_id, campaign_id } = fixture.account(name);
  const send = requests(fixture, name);
  const daysAgo = (days: number) => new Date(Date.now() - days * day_ms).toISOString();
  const year = `from=${daysAgo(365)}&to=${daysAgo(0)}`;
  const two_days = `createdFrom=${daysAgo(40)}&createdTo=${daysAgo(38)}`;
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
    "filter: leads by agent, rare": `${crm}/leads?assignedAgentId=${owner_id}`,
    "filter: leads by time": `${crm}/leads?${two_days}`,
    "filter: recipients by state, rare": `/chat/campaigns/${campaign_id}/recipients?error=none`,
    "filter: calls by state": "/calls?status=no-answer",
    "filter: calls by reference, rare": "/calls?reference=old",
    "filter: calls by number": "/calls?number=6000000101",
    "filter: ledger by time": `/credits/ledger?from=${daysAgo(40)}&to=${daysAgo(38)}`,
    "filter: failed deliveries": "/callbacks/deliveries?state=failed",
    "filter: audit trail by action, rare": "/audit?action=role.created",
    "search: leads, found": `${crm}/leads?q=person17`,
    "search: leads, not found": `${crm}/leads?q=none`,
    "search: contacts, not found": `${crm}/contacts?q=none`,
    "search: people": "/people?q=Person%2017",
    "a person's timeline": "/people/timeline?phone_number=916000000101",
    "report: messages of a year, by day": `/reports/chat?group_by=day&${year}`,
    "report: messages of a year, by campaign": `/reports/chat?group_by=campaign&${year}`,
    "report: calls of a year, by day": `/reports/calls?group_by=day&${year}`,
    "report: calls of a year, by agent": `/reports/calls?group_by=agent&${year}`,
    overview: "/overview",
    credits: "/credits",
  };
  const exports: Readonly<Record<string, string>> = {
    "export: leads, first bytes": `${crm}/leads/export`,
    "export: recipients, first bytes": `/chat/campaigns/${campaign_id}/recipients/export`,
    "export: calls, first bytes": `/calls/export`,
    "export: ledger, first bytes": "/credits/ledger/export",
  };
  const works: Record<string, () => Promise<unknown>> = {};
  for (const [what, path] of Object.entries(paths)) works[what] = () => send("GET", path);
  for (const [what, path] of Object.entries(exports))
    works[what] = () => readFirstBytes(fixture, name, path);
  return timeEach(works, samples);
}

async function readFirstBytes(
  { service, account }: Fixture,
  name: Name,
  path: string,
): Promise<void> {
  const stop = new AbortController();
  const answer = await fetch(`${service.url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${account(name).token}` },
    signal: stop.signal,
  });
  if (answer.status !== 200) throw new Error(`${path}: ${await answer.text()}`);
  const body = answer.body!.getReader();
  // The header; then the first rows.
  await body.read();
  await body.read();
  stop.abort();
}
