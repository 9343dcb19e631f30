// Sends campaigns: one leased sender per chat number, in any one process.
import { chat_driver_names, type ChatDriverName } from "../../drivers/chat/driver.ts";
import { chatDriverFor, findChatDriver } from "../credentials/chat-drivers.ts";
import type { App } from "../../engine/app.ts";
import {
  openLeasedWorkers,
  type Candidate,
  type LeasedWorkers,
  type PoolLimits,
} from "../../engine/leased-workers.ts";
import type { LeaseTimes } from "../../engine/leases.ts";
import { isUnfrozen } from "../../engine/poll-work.ts";
import { statement } from "../../lib/database/database.ts";
import { runSender } from "./internal/run-sender.ts";
import type { Sender, SenderSettings } from "./internal/sender.ts";
import { findSenderNumber, type Result } from "./internal/sender-statements.ts";

export type { SenderSettings } from "./internal/sender.ts";

export type Senders = LeasedWorkers;

const sender_limits = {
  // Numbers that one process sends for at once; other processes take the rest.
  workers: 500,
  // Reserves places for the other accounts, however many numbers one has.
  account_workers: 400,
  // Its numbers beyond the places alternate with the others. Long enough that the start of a sender costs little of it.
  account_worker_ms: 60_000,
} as const satisfies PoolLimits;

// Due campaigns whose number has no sender, and numbers whose sender died (an expired lease), without those of full
// accounts. The number whose sender ended last comes last.
const due_numbers = statement<Candidate & { driver: ChatDriverName }>(`
  select distinct c.account_id, c.chat_number_id as id, n.driver, (
    select l.expires_at from leases l
    where l.account_id = c.account_id and l.name = 'chat_sender:' || c.chat_number_id) as ended_at
  from chat_campaigns c
  join chat_numbers n on n.account_id = c.account_id and n.id = c.chat_number_id
  where c.state = 'running' and c.work_at <= $1 and c.account_id <> all ($4::bigint[])
    and (n.driver = any ($2) or $3 and n.driver = 'whatsapp' and exists (
      select from whatsapp_credentials w where w.account_id = n.account_id))
    and not exists (
      select from leases l
      where l.account_id = c.account_id and l.name = 'chat_sender:' || c.chat_number_id
        and l.holder is not null and l.expires_at > clock_timestamp())
    and ${isUnfrozen("c")}
  union
  select l.account_id, n.id, n.driver, l.expires_at
  from leases l
  join chat_numbers n on n.account_id = l.account_id and n.id = split_part(l.name, ':', 2)::bigint
  where l.name like 'chat\\_sender:%' and l.holder is not null and l.expires_at <= clock_timestamp()
    and l.account_id <> all ($4::bigint[])
    and ${isUnfrozen("l")}
  order by ended_at nulls first limit 100`);

/** When senders have work: see poll-work.ts. */
export const due_senders = [
  `from chat_campaigns c where c.state = 'running' and c.work_at <= $1 and ${isUnfrozen("c")} order by c.work_at`,
  `from leases l
   where l.name like 'chat\\_sender:%' and l.holder is not null and l.expires_at <= clock_timestamp() and ${isUnfrozen("l")}
   order by l.account_id`,
];

/** The interval between logs of campaigns whose provider this process has no credentials for. */
const report_ms = 60_000;

/** Starts the senders of this process; a stop lets requests in flight finish and records them. */
export function openSenders(
  app: App,
  settings: SenderSettings,
  times?: LeaseTimes,
  limits: PoolLimits = sender_limits,
): Senders {
  /** Results that a sender could not record after losing its lease, with their number. */
  const unrecorded = new Map<string, Candidate & { readonly results: Result[] }>();
  const configured = chat_driver_names.filter((name) => app.chatDrivers[name]);
  const hasAccess = app.chatDrivers.whatsappAccess !== undefined;
  const reportUnconfigured = openUnconfiguredReport(app);
  const senders = openLeasedWorkers(app, {
    role: "chat_sender",
    times,
    limits,
    async findDue(full) {
      await reportUnconfigured();
      const due = await due_numbers(app.db.pool, [
        app.clock.now(),
        configured,
        hasAccess,
        full.all,
      ]);
      const left = [...unrecorded.values()].filter(
        ({ account_id }) => !full.all.includes(account_id),
      );
      return [...left, ...due];
    },
    async work(lease, number_id, worker) {
      const key = `${lease.account_id}:${number_id}`;
      const results = unrecorded.get(key)?.results ?? [];
      unrecorded.delete(key);
      try {
        const sender = await openSender({ app, lease, number_id, settings, results });
        await runSender(sender, worker);
      } finally {
        const { account_id } = lease;
        if (results.length > 0) unrecorded.set(key, { account_id, id: number_id, results });
      }
    },
  });
  app.notifications.on("chat_work", (subject) => {
    const [accountId, numberId] = subject.split(":").map(Number);
    for (const handle of senders.handlesOf(accountId!, numberId)) handle.wake();
  });
  // The number may have no other work: its next sender marked the messages as of unknown outcome and ended.
  return { ...senders, isActive: () => unrecorded.size > 0 || senders.isActive() };
}

/** Returns a sender that has loaded nothing but its number. */
async function openSender(
  parts: Pick<Sender, "app" | "lease" | "number_id" | "settings" | "results">,
): Promise<Sender> {
  const { app, lease, number_id } = parts;
  const number = await findSenderNumber(app, lease.account_id, number_id);
  const driver = chatDriverFor(app, number.driver, number);
  return {
    ...parts,
    number,
    driver,
    effects: [],
    deferred: [],
    campaigns: new Map(),
    ended_lately: 0,
    wake: () => {},
  };
}

/**
 * Logs once a minute the numbers whose campaigns wait for a provider that this process has no
 * credentials for. Another process may send them; if none does, nothing else reports them.
 */
function openUnconfiguredReport(app: App): () => Promise<void> {
  const missing = chat_driver_names.filter((name) => !app.chatDrivers[name]);
  let reported_at = -Infinity;
  return async () => {
    if (missing.length === 0 || performance.now() - reported_at < report_ms) return;
    reported_at = performance.now();
    const due = await due_numbers(app.db.pool, [app.clock.now(), missing, false, []]);
    for (const { account_id, id, driver } of due) {
      if (!missing.includes(driver) || (await findChatDriver(app, driver, account_id))) continue;
      const at = { account_id, subject_id: id };
      app.log.error(at, `campaigns of a number wait: ${driver} is not configured in this process`);
    }
  };
}
