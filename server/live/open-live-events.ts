// Live events: every reader of this process, fed from the database by notifications and one poll for all.
import type { Readable } from "node:stream";
import { accountTokensSubject, tokenSubject } from "../accounts/tokens/token-directory.ts";
import type { App } from "../engine/app.ts";
import { Refusal } from "../lib/errors.ts";
import type { Metrics } from "../lib/metrics.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import { followCampaigns } from "./campaign-progress.ts";
import { heardBy } from "./event-audience.ts";
import {
  hearNews,
  leavePlace,
  newHub,
  readersOf,
  stopping,
  takePlace,
  type Account,
  type Hub,
  type Listener,
  type Reader,
} from "./hub.ts";
import { openEventStream } from "./open-event-stream.ts";
import { readEventHeads, readEventsPage, type EventsPage } from "./read-events-page.ts";
import { check, heartbeat_ms, isFollowed, tell, tickLater } from "./tend-streams.ts";

export type LiveEvents = {
  /**
   * Opens a stream of server-sent events. Refuses: forbidden (nothing of it may be heard),
   * rate-limited (the account has too many streams), unavailable (the process has, or it stops).
   */
  open(listener: Listener): Promise<Readable>;
  /** Ends all streams at once; none is opened afterwards. */
  close(): void;
};

/** Opens the process's live events; without streams they do nothing. */
export function openLiveEvents(
  app: App,
  metrics: Metrics,
  timers: Timers = systemTimers,
): LiveEvents {
  const hub = newHub(app, metrics, timers);
  app.notifications.on("events", (subject) => hearNews(hub.accounts.get(Number(subject))));
  app.notifications.on("token", (subject) => {
    const account = hub.accounts.get(Number(subject.split(":")[0]));
    for (const reader of account?.readers ?? [])
      if (isMeant(reader, subject)) void check(hub, reader);
  });
  return {
    open: (listener) => open(hub, listener),
    close() {
      hub.closed = true;
      for (const reader of readersOf(hub)) reader.stream.end();
    },
  };
}

async function open(hub: Hub, listener: Listener): Promise<Readable> {
  const types = heardBy(listener.caller, listener.types);
  if (types.size === 0)
    throw new Refusal("forbidden", "This token may hear of none of these events");
  const account = takePlace(hub, listener.caller.account.id);
  try {
    const from = listener.from ?? (await headOf(hub, account));
    // Whoever was refused meanwhile is not let in by what was true before.
    if (hub.closed) throw stopping();
    return join(hub, account, { listener, types, from });
  } catch (error) {
    leavePlace(hub, account);
    throw error;
  }
}

async function headOf({ app }: Hub, { id }: Account): Promise<number> {
  const heads = await readEventHeads(app.db.pool, [id]);
  return heads.get(id) ?? 0;
}

function join(
  hub: Hub,
  account: Account,
  opened: { listener: Listener; types: ReadonlySet<string>; from: number },
): Readable {
  const { timers, app } = hub;
  const { listener, types, from } = opened;
  const stream = openEventStream({
    source: {
      news: () => account.news,
      read: (after) => readShared(hub, account, after),
    },
    from,
    types,
    timers,
    cut: listener.cut,
    closed() {
      account.readers.delete(reader);
      leavePlace(hub, account);
    },
  });
  const check_at_ms = timers.now() + heartbeat_ms;
  const reader: Reader = { listener, stream, types, check_at_ms, checks: 0 };
  // Nobody has looked for a while: what was seen then is no news.
  if (!isFollowed(account)) {
    account.progress = followCampaigns(app, account.id);
    account.looked_news = -1;
  }
  tell(account.progress.latest(), [reader]);
  account.readers.add(reader);
  // What was revoked while it was opened.
  void check(hub, reader);
  tickLater(hub);
  return stream.readable;
}

/** A page for every reader that asks for the same at the same time. */
function readShared(hub: Hub, account: Account, after: number): Promise<EventsPage> {
  // A read from before the latest news may not have seen it.
  const key = `${after} ${account.news}`;
  const underWay = account.reads.get(key);
  if (underWay) return underWay;
  hub.metrics.eventReads.inc();
  const read = async () => {
    try {
      const place = { after, limit: account.page_events };
      const page = await readEventsPage(hub.app.db.pool, account.id, place);
      account.head = page.head;
      account.page_events = page.limit;
      return page;
    } catch (err) {
      hub.app.log.warn({ err }, "events could not be read for their streams; trying again");
      throw err;
    }
  };
  const reading = hub.reading.use(read).finally(() => account.reads.delete(key));
  account.reads.set(key, reading);
  return reading;
}

function isMeant({ listener }: Reader, subject: string): boolean {
  const { account, token_id } = listener.caller;
  return (
    subject === tokenSubject(account.id, token_id) || subject === accountTokensSubject(account.id)
  );
}
