import type { App } from "../engine/app.ts";
import { isUnfrozen } from "../engine/poll-work.ts";
import { queueAge } from "../engine/queue-age.ts";
import { statement } from "../lib/database/database.ts";
import type { Metrics } from "../lib/metrics.ts";

type Found = {
  inbox_seconds: number;
  events_seconds: number;
  callbacks_seconds: number;
  unsent_seconds: number;
  retention_seconds: number;
  endpoints_failing: number;
};

const age = (oldest: string) =>
  `coalesce(greatest(extract(epoch from $1 - (${oldest})), 0), 0)::float8`;

// Each reads one index entry, or what waits, across all accounts. A callback endpoint, or a campaign's number, that a
// worker holds is being worked on.
const readInstallation = statement<Found>(`
  select ${age(`select min(i.due_at) from chat_inbox i where ${isUnfrozen("i")}`)} as inbox_seconds,
    ${age("select min(occurred_at) from events where seq is null")} as events_seconds,
    ${age(`select c.work_at from callback_endpoints c where c.enabled and c.work_at <= $1 and ${isUnfrozen("c")} and not exists (
      select from leases l where l.account_id = c.account_id and l.name = 'callbacks:' || c.id
        and l.holder is not null and l.expires_at > clock_timestamp()) order by c.work_at limit 1`)} as callbacks_seconds,
    ${age(`select c.work_at from chat_campaigns c where c.state = 'running' and c.work_at <= $1 and ${isUnfrozen("c")} and not exists (
      select from leases l where l.account_id = c.account_id and l.name = 'chat_sender:' || c.chat_number_id
        and l.holder is not null and l.expires_at > clock_timestamp()) order by c.work_at limit 1`)} as unsent_seconds,
    ${age("select least(min(retention_due_at), min(recordings_due_at), min(recordings_overdue_since)) from accounts")} as retention_seconds,
    (select count(*)::int from callback_endpoints c where c.deleted_at is null and ${isUnfrozen("c")}
      and (c.enabled and c.failing_since is not null or c.disabled_reason in ('failing', 'gone'))) as endpoints_failing`);

// Apart: Citus refuses it beside the tables of accounts.
const readIdentity = statement<{ is_unconfirmed: boolean }>(`
  select exists (select from database_identity where changed_at is not null) as is_unconfirmed`);

const readHolds = statement<{ channel: string; reason: string; count: number }>(`
  select 'chat' as channel, reason, count(*)::int from chat_holds h where ${isUnfrozen("h")} group by reason
  union all
  select 'voice', reason, count(*)::int from voice_holds h where ${isUnfrozen("h")} group by reason`);

const readLeases = statement<{
  account_id: number;
  name: string;
  takeovers: number;
  is_held: boolean;
}>(`
  select account_id, name, takeovers, holder is not null and expires_at > now() as is_held from leases
  where expires_at > now() - interval '2 minutes' and not starts_with(name, 'pool:') and name <> 'primary_reads'`);

/** Counts the takeovers of leases since the last reading. To release an idle one and acquire it again is none. */
function openTakeoverCounter(): (
  leases: { name: string; account_id: number; takeovers: number }[],
) => ReadonlyMap<string, number> {
  let known: ReadonlyMap<string, number> = new Map();
  return (leases) => {
    const before = known;
    known = new Map(
      leases.map(({ account_id, name, takeovers }) => [`${account_id} ${name}`, takeovers]),
    );
    const counts = new Map<string, number>();
    for (const { account_id, name, takeovers } of leases) {
      const role = roleOf(name);
      // Those of a lease that is new here may be old.
      const last = before.get(`${account_id} ${name}`) ?? takeovers;
      counts.set(role, (counts.get(role) ?? 0) + Math.max(0, takeovers - last));
    }
    return counts;
  };
}

const roleOf = (name: string) => name.split(":")[0]!;

/**
 * Opens the reading of the gauges of the whole installation, which have the same values in every process. While the
 * database is unavailable it clears them, reports that, and does not fail.
 */
export function openInstallationGauges(
  { db, clock, log }: Pick<App, "db" | "clock" | "log">,
  metrics: Metrics,
): () => Promise<void> {
  const countTakeovers = openTakeoverCounter();
  const { installation } = metrics;
  const measure = async () => {
    const now = clock.now();
    const [identity] = await readIdentity(db.pool, []);
    installation.unconfirmed.set(identity!.is_unconfirmed ? 1 : 0);
    const [found] = await readInstallation(db.pool, [now]);
    installation.backlogSeconds.set({ work: "jobs" }, await queueAge(db.query, now));
    installation.backlogSeconds.set({ work: "chat_webhooks" }, found!.inbox_seconds);
    installation.backlogSeconds.set({ work: "events" }, found!.events_seconds);
    installation.backlogSeconds.set({ work: "callbacks" }, found!.callbacks_seconds);
    installation.backlogSeconds.set({ work: "chat_campaigns" }, found!.unsent_seconds);
    installation.backlogSeconds.set({ work: "retention" }, found!.retention_seconds);
    installation.endpointsFailing.set(found!.endpoints_failing);
    installation.holds.reset();
    for (const { channel, reason, count } of await readHolds(db.pool, []))
      installation.holds.set({ channel, reason }, count);
    const leases = await readLeases(db.pool, []);
    installation.leasesHeld.reset();
    for (const { name } of leases.filter(({ is_held }) => is_held))
      installation.leasesHeld.inc({ role: roleOf(name) });
    for (const [role, count] of countTakeovers(leases))
      installation.leaseTakeovers.inc({ role }, count);
  };
  return async () => {
    const isAvailable = await measure().then(
      () => true,
      (err: unknown) => {
        log.warn({ err }, "could not measure the installation");
        return false;
      },
    );
    metrics.databaseUp.set(isAvailable ? 1 : 0);
    if (isAvailable) return;
    const { leaseTakeovers: _, ...gauges } = installation;
    for (const gauge of Object.values(gauges)) gauge.reset();
  };
}
