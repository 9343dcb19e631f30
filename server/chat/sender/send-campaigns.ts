// Sends what campaigns have to send: one leased sender per chat number, in whichever process gets it.
import { chat_driver_names, type ChatDriverName } from "../../drivers/chat/driver.ts";
import type { App } from "../../engine/app.ts";
import { acquireLease, lease_times, type LeaseTimes } from "../../engine/leases.ts";
import { statement } from "../../lib/database/database.ts";
import { runSender } from "./internal/run-sender.ts";
import type { Sender, SenderSettings } from "./internal/sender.ts";
import { findSenderNumber, type Result } from "./internal/sender-statements.ts";

export type { SenderSettings } from "./internal/sender.ts";

export type Senders = {
  /** A turn: begins a sender for each number that has work and none elsewhere. Never waits for one. */
  startDue(): Promise<number>;
  /** Lets what is under way end, records it and gives the leases back. Resolves when all are done. */
  stop(): Promise<void>;
};

/** Numbers one process sends for at once: the others go to the next process. */
const senders_max = 500;

// Due campaigns whose number nobody sends for, and numbers whose sender died: its leases stand expired.
const due_numbers = statement<{ account_id: number; number_id: number; driver: ChatDriverName }>(`
  select distinct c.account_id, c.chat_number_id as number_id, n.driver
  from chat_campaigns c
  join chat_numbers n on n.account_id = c.account_id and n.id = c.chat_number_id
  where c.state = 'running' and c.work_at <= $1 and n.driver = any ($2)
    and not exists (
      select from leases l
      where l.account_id = c.account_id and l.name = 'chat_sender:' || c.chat_number_id
        and l.holder is not null and l.expires_at > clock_timestamp())
  union
  select l.account_id, n.id, n.driver
  from leases l
  join chat_numbers n on n.account_id = l.account_id and n.id = split_part(l.name, ':', 2)::bigint
  where l.name like 'chat\\_sender:%' and l.holder is not null and l.expires_at <= clock_timestamp()
  limit 100`);

/** How often it is said that campaigns wait for a provider that this process has no access to. */
const tell_ms = 60_000;

export function openSenders(
  app: App,
  settings: SenderSettings,
  times: LeaseTimes = lease_times,
): Senders {
  const stopping = new AbortController();
  /** The senders of this process and how each is woken. */
  const running = new Map<string, { done: Promise<void>; wake: () => void }>();
  /** What a sender could not record when it lost its lease. */
  const unrecorded = new Map<string, Result[]>();
  app.notifications.on("chat_work", (subject) => running.get(subject)?.wake());

  const start = async (account_id: number, number_id: number): Promise<void> => {
    const subject = `${account_id}:${number_id}`;
    const lease = await acquireLease(app, account_id, `chat_sender:${number_id}`, times);
    if (!lease) return;
    const results = unrecorded.get(subject) ?? [];
    try {
      const sender = await openSender({
        app,
        lease,
        number_id,
        settings,
        stopping: stopping.signal,
        results,
      });
      await runSender(sender, (wake) => {
        const entry = running.get(subject);
        if (entry) entry.wake = wake;
      });
    } catch (err) {
      app.log.error({ err, account_id, subject_id: number_id }, "a sender ended early");
    } finally {
      if (results.length > 0) unrecorded.set(subject, results);
      else unrecorded.delete(subject);
      // A lost one is left to run out: found expired it brings a sender back to what is under way,
      // also of campaigns that were cancelled meanwhile, which are never due.
      if (!lease.lost.aborted) await lease.release();
    }
  };

  const configured = chat_driver_names.filter((name) => app.chatDrivers[name]);
  const tellUnconfigured = openUnconfiguredTeller(app);

  return {
    async startDue() {
      await tellUnconfigured();
      const due = await due_numbers(app.db.pool, [app.clock.now(), configured]);
      for (const { account_id, number_id } of due) {
        const subject = `${account_id}:${number_id}`;
        if (stopping.signal.aborted || running.size >= senders_max) break;
        if (running.has(subject)) continue;
        const entry = { done: Promise.resolve(), wake: () => {} };
        running.set(subject, entry);
        entry.done = start(account_id, number_id)
          .catch((err: unknown) => app.log.warn({ err, account_id }, "a lease was not to be had"))
          .finally(() => running.delete(subject));
      }
      // The senders work by themselves: there is nothing to go on with here.
      return 0;
    },
    async stop() {
      stopping.abort();
      for (const { wake } of running.values()) wake();
      await Promise.all([...running.values()].map(({ done }) => done));
    },
  };
}

/** A sender that knows nothing yet but its number. */
async function openSender(
  parts: Pick<Sender, "app" | "lease" | "number_id" | "settings" | "stopping" | "results">,
): Promise<Sender> {
  const { app, lease, number_id } = parts;
  const number = await findSenderNumber(app, lease.account_id, number_id);
  const driver = app.chatDrivers[number.driver];
  return {
    ...parts,
    number,
    driver,
    effects: [],
    campaigns: new Map(),
    wake: () => {},
  };
}

/**
 * Says once a minute which numbers have campaigns waiting for a provider that this process has no
 * access to. They are left to a process that has; if none has, nobody else would say so.
 */
function openUnconfiguredTeller(app: App): () => Promise<void> {
  const missing = chat_driver_names.filter((name) => !app.chatDrivers[name]);
  let told_at = -Infinity;
  return async () => {
    if (missing.length === 0 || performance.now() - told_at < tell_ms) return;
    told_at = performance.now();
    const due = await due_numbers(app.db.pool, [app.clock.now(), missing]);
    for (const { account_id, number_id, driver } of due) {
      if (!missing.includes(driver)) continue;
      const at = { account_id, subject_id: number_id };
      app.log.error(at, `campaigns of a number wait: ${driver} is not configured in this process`);
    }
  };
}
