// NOTIFY as a hint between processes: sent after commit on a connection of its own, gathered for
// 10 ms per channel. A lost hint only costs time: whoever listens also polls or expires its copy.
import pg from "pg";
import type { Log } from "../lib/log.ts";

/** What a process may be told to look at again. */
export type HintChannel = "token" | "workspace" | "lead_import";

export type Hints = {
  /** Tells every process, this one included, soon. Never fails, never waits. */
  send(channel: HintChannel, subject: string): void;
  on(channel: HintChannel, heard: (subject: string) => void): void;
  close(): Promise<void>;
};

const pg_channel = "trunkline";
const gather_ms = 10;
/** NOTIFY takes 8,000 bytes; a subject is below 100. */
const subjects_max = 50;

/** Opens the listening connection in the background and reopens it for ever. */
export function openHints(url: string, log: Log): Hints {
  const heard = new Map<HintChannel, ((subject: string) => void)[]>();
  const pending = new Map<HintChannel, Set<string>>();
  let client: pg.Client | null = null;
  let closed = false;
  let timer: NodeJS.Timeout | null = null;
  let reconnect: NodeJS.Timeout | null = null;

  const deliver = (payload: string) => {
    const [channel, subjects] = JSON.parse(payload) as [HintChannel, string[]];
    for (const tell of heard.get(channel) ?? []) for (const subject of subjects) tell(subject);
  };

  const connect = async () => {
    const next = new pg.Client({
      connectionString: url,
      application_name: "trunkline-hints",
      keepAlive: true,
    });
    next.on("notification", ({ payload }) => deliver(payload ?? "[]"));
    next.on("error", () => {}); // `end` follows.
    next.on("end", () => {
      client = null;
      connectLater();
    });
    try {
      await next.connect();
      await next.query(`listen ${pg_channel}`);
      client = next;
    } catch (err) {
      log.warn({ err }, "the hints connection is not open; trying again");
      await next.end().catch(() => {});
      connectLater();
    }
  };

  const connectLater = () => {
    if (closed || reconnect) return;
    reconnect = setTimeout(() => {
      reconnect = null;
      void connect();
    }, 500);
  };

  const flush = () => {
    timer = null;
    for (const [channel, subjects] of pending) {
      const all = [...subjects];
      for (let i = 0; i < all.length; i += subjects_max) {
        const payload = JSON.stringify([channel, all.slice(i, i + subjects_max)]);
        client?.query("select pg_notify($1, $2)", [pg_channel, payload]).catch(() => {});
      }
    }
    pending.clear();
  };

  void connect();
  return {
    send(channel, subject) {
      // This process needs no round trip to hear itself.
      for (const tell of heard.get(channel) ?? []) tell(subject);
      pending.set(channel, (pending.get(channel) ?? new Set()).add(subject));
      timer ??= setTimeout(flush, gather_ms);
    },
    on(channel, tell) {
      heard.set(channel, [...(heard.get(channel) ?? []), tell]);
    },
    async close() {
      closed = true;
      if (timer) clearTimeout(timer);
      if (reconnect) clearTimeout(reconnect);
      flush();
      await client?.end();
    },
  };
}
