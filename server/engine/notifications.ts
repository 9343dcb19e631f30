// Wake-ups between processes by NOTIFY: sent after commit on a dedicated connection, immediately after an
// idle period and otherwise batched, so that each channel sends at most one every 10 ms. A lost notification
// only costs time, because every listener also polls or expires its cache.
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { Log } from "../lib/log.ts";

/** What a notification is about. */
export type NotificationChannel =
  | "token"
  | "workspace"
  | "lead_import"
  | "job"
  | "chat_inbound"
  | "chat_work"
  | "call_work"
  | "call_command"
  | "voice_work"
  // The account has relayed events.
  | "events"
  // The account has pending deliveries.
  | "callback_work";

export type Notifications = {
  /** Notifies every process, including this one, within milliseconds. Never fails and never blocks. */
  send(channel: NotificationChannel, subject: string): void;
  on(channel: NotificationChannel, listener: (subject: string) => void): void;
  close(): Promise<void>;
};

const pg_channel = "trunkline";
const batch_ms = 10;
const reconnect_ms = 500;
/** A NOTIFY payload has at most 8,000 bytes; a subject has fewer than 100. */
const subjects_max = 50;

/** Opens the listening connection in the background and reopens it whenever it ends. */
export function openNotifications(url: string, log: Log): Notifications {
  const listeners = new Map<NotificationChannel, ((subject: string) => void)[]>();
  const pending = new Map<NotificationChannel, Set<string>>();
  let sending: Promise<void> | null = null;
  let sent_ms = -Infinity;

  const deliver = (channel: NotificationChannel, subjects: readonly string[]) => {
    for (const listener of listeners.get(channel) ?? [])
      for (const subject of subjects) listener(subject);
  };
  const connection = keepListening(url, log, (payload) => {
    const notification = readNotification(payload);
    if (notification) deliver(...notification);
  });
  /** Subjects that arrive while the database is busy are batched, each of them once. */
  const sendPending = async () => {
    while (pending.size > 0) {
      // Waits at least one tick, so that subjects sent in the same tick share a notification.
      await wait(Math.max(0, sent_ms + batch_ms - performance.now()));
      sent_ms = performance.now();
      const payloads = [...pending].flatMap(([channel, subjects]) => payloadsOf(channel, subjects));
      pending.clear();
      for (const payload of payloads) await connection.notify(payload);
    }
    sending = null;
  };

  return {
    send(channel, subject) {
      // Listeners in this process are called without a round trip.
      deliver(channel, [subject]);
      pending.set(channel, (pending.get(channel) ?? new Set()).add(subject));
      sending ??= sendPending();
    },
    on(channel, listener) {
      listeners.set(channel, [...(listeners.get(channel) ?? []), listener]);
    },
    async close() {
      await sending;
      await connection.close();
    },
  };
}

function payloadsOf(channel: NotificationChannel, subjects: ReadonlySet<string>): string[] {
  const all = [...subjects];
  return Array.from({ length: Math.ceil(all.length / subjects_max) }, (_, i) =>
    JSON.stringify([channel, all.slice(i * subjects_max, (i + 1) * subjects_max)]),
  );
}

/** Parses a payload; null if it is not one of ours, because any database role may send on our channel. */
function readNotification(payload: string): [NotificationChannel, string[]] | null {
  try {
    const [channel, subjects] = JSON.parse(payload) as unknown[];
    const isOurs =
      typeof channel === "string" &&
      Array.isArray(subjects) &&
      subjects.every((subject) => typeof subject === "string");
    return isOurs ? [channel as NotificationChannel, subjects] : null;
  } catch {
    return null;
  }
}

/** Sends one notification and resolves when it is sent; for short-lived processes that open no Notifications. */
export async function sendNotification(
  executor: Pick<pg.ClientBase, "query">,
  channel: NotificationChannel,
  subject: string,
): Promise<void> {
  const payload = JSON.stringify([channel, [subject]]);
  await executor.query("select pg_notify($1, $2)", [pg_channel, payload]);
}

/** Keeps one connection listening; notifications are dropped while it is down. */
function keepListening(url: string, log: Log, onPayload: (payload: string) => void) {
  let client: pg.Client | null = null;
  let own_pid: number | null = null;
  let closed = false;
  let reconnect: NodeJS.Timeout | null = null;

  const connectLater = () => {
    client = null;
    if (closed || reconnect) return;
    reconnect = setTimeout(() => {
      reconnect = null;
      void connect();
    }, reconnect_ms);
  };
  const connect = async () => {
    const next = new pg.Client({
      connectionString: url,
      application_name: "trunkline-notifications",
      keepAlive: true,
    });
    // PostgreSQL echoes our own notifications, which `send` has already delivered.
    next.on("notification", ({ payload, processId }) => {
      if (processId !== own_pid) onPayload(payload ?? "");
    });
    next.on("error", () => {}); // `end` follows.
    next.on("end", connectLater);
    try {
      await next.connect();
      await next.query(`listen ${pg_channel}`);
      const { rows } = await next.query<{ pid: number }>("select pg_backend_pid() as pid");
      own_pid = rows[0]!.pid;
      if (closed) await next.end();
      else client = next;
    } catch (err) {
      log.warn({ err }, "could not open the notification connection; retrying");
      await next.end().catch(() => {});
      connectLater();
    }
  };
  const opening = connect();

  return {
    /** Never fails: a notification that cannot be sent is dropped. */
    async notify(payload: string) {
      await client?.query("select pg_notify($1, $2)", [pg_channel, payload]).catch(() => {});
    },
    async close() {
      closed = true;
      if (reconnect) clearTimeout(reconnect);
      await opening;
      await client?.end();
    },
  };
}
