// NOTIFY as a notification between processes: sent after commit on a connection of its own, at once after a
// quiet moment, else gathered, so that each channel has one in 10 ms at most. A lost notification only costs
// time: whoever listens also polls or expires its copy.
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import type { Log } from "../lib/log.ts";

/** What a process may be told to look at again. */
export type NotificationChannel =
  | "token"
  | "workspace"
  | "lead_import"
  | "job"
  | "chat_report"
  | "chat_work"
  | "call_work"
  | "call_command"
  | "voice_work"
  // An account whose events got their seq.
  | "events"
  // An account that has deliveries to make.
  | "callback_work";

export type Notifications = {
  /** Tells every process, this one included, soon. Never fails, never waits. */
  send(channel: NotificationChannel, subject: string): void;
  on(channel: NotificationChannel, heard: (subject: string) => void): void;
  close(): Promise<void>;
};

const pg_channel = "trunkline";
const gather_ms = 10;
const reconnect_ms = 500;
/** NOTIFY takes 8,000 bytes; a subject is below 100. */
const subjects_max = 50;

/** Opens the listening connection in the background and reopens it for ever. */
export function openNotifications(url: string, log: Log): Notifications {
  const listeners = new Map<NotificationChannel, ((subject: string) => void)[]>();
  const pending = new Map<NotificationChannel, Set<string>>();
  let sending: Promise<void> | null = null;
  let sent_ms = -Infinity;

  const deliver = (channel: NotificationChannel, subjects: readonly string[]) => {
    for (const tell of listeners.get(channel) ?? []) for (const subject of subjects) tell(subject);
  };
  const connection = keepListening(url, log, (payload) => {
    const notification = readNotification(payload);
    if (notification) deliver(...notification);
  });
  /** What is sent meanwhile is gathered, however long the database takes: each subject goes once. */
  const sendPending = async () => {
    while (pending.size > 0) {
      // In any case: what is sent together goes together.
      await wait(Math.max(0, sent_ms + gather_ms - performance.now()));
      sent_ms = performance.now();
      const payloads = [...pending].flatMap(([channel, subjects]) => payloadsOf(channel, subjects));
      pending.clear();
      for (const payload of payloads) await connection.notify(payload);
    }
    sending = null;
  };

  return {
    send(channel, subject) {
      // This process needs no round trip to hear itself.
      deliver(channel, [subject]);
      pending.set(channel, (pending.get(channel) ?? new Set()).add(subject));
      sending ??= sendPending();
    },
    on(channel, tell) {
      listeners.set(channel, [...(listeners.get(channel) ?? []), tell]);
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

/** Every role of a shared database may send on our channel: what is not ours is null. */
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

/** Sends one notification and waits until it is sent: for a process that ends too soon to open Notifications. */
export async function sendNotification(
  executor: Pick<pg.ClientBase, "query">,
  channel: NotificationChannel,
  subject: string,
): Promise<void> {
  const payload = JSON.stringify([channel, [subject]]);
  await executor.query("select pg_notify($1, $2)", [pg_channel, payload]);
}

/** One connection that listens; a notification while it is away is dropped. */
function keepListening(url: string, log: Log, heard: (payload: string) => void) {
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
      application_name: "trunkline-hints",
      keepAlive: true,
    });
    // Its own come back as well: those were heard when they were sent.
    next.on("notification", ({ payload, processId }) => {
      if (processId !== own_pid) heard(payload ?? "");
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
      log.warn({ err }, "the notifications connection is not open; trying again");
      await next.end().catch(() => {});
      connectLater();
    }
  };
  const opening = connect();

  return {
    /** Never fails: what cannot be sent is dropped. */
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
