// Live events: the streams of this process, fed from the database by notifications and one shared poll.
import type { Readable } from "node:stream";
import { accountTokensSubject, tokenSubject } from "../accounts/tokens/token-directory.ts";
import type { App } from "../engine/app.ts";
import { Refusal } from "../lib/errors.ts";
import type { Metrics } from "../lib/metrics.ts";
import { systemTimers, type Timers } from "../lib/timers.ts";
import { followCampaigns } from "./campaign-progress.ts";
import { visibleTypes } from "./event-audience.ts";
import {
  announceEvents,
  releaseSlot,
  newHub,
  readersOf,
  stopping,
  acquireSlot,
  type Account,
  type Hub,
  type Listener,
  type Reader,
} from "./event-hub.ts";
import { openEventStream } from "./open-event-stream.ts";
import { readEventHeads, readEventsPage, type EventsPage } from "./read-events-page.ts";
import {
  checkToken,
  heartbeat_ms,
  hasProgressReaders,
  sendProgress,
  scheduleTick,
} from "./maintain-streams.ts";

export type LiveEvents = {
  /**
   * Opens a stream of server-sent events. Refuses: forbidden (the caller may receive none of the types),
   * rate-limited (the account has too many streams), unavailable (the process has too many, or is stopping).
   */
  open(listener: Listener): Promise<Readable>;
  /** Ends all streams; none can be opened afterwards. */
  close(): void;
};

/** Opens the live events of the process; they are idle without streams. */
export function openLiveEvents(
  app: App,
  metrics: Metrics,
  timers: Timers = systemTimers,
): LiveEvents {
  const hub = newHub(app, metrics, timers);
  app.notifications.on("events", (subject) => announceEvents(hub.accounts.get(Number(subject))));
  app.notifications.on("token", (subject) => {
    const account = hub.accounts.get(Number(subject.split(":")[0]));
    for (const reader of account?.readers ?? [])
      if (concernsToken(reader, subject)) void checkToken(hub, reader);
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
  const types = visibleTypes(listener.caller, listener.types);
  if (types.size === 0)
    throw new Refusal("forbidden", "This token has no permission for any of these event types");
  const account = acquireSlot(hub, listener.caller.account.id);
  try {
    const from = listener.from ?? (await headOf(hub, account));
    // The hub may have been closed during the query.
    if (hub.closed) throw stopping();
    return addReader(hub, account, { listener, types, from });
  } catch (error) {
    releaseSlot(hub, account);
    throw error;
  }
}

async function headOf({ app }: Hub, { id }: Account): Promise<number> {
  const heads = await readEventHeads(app.db.pool, [id]);
  return heads.get(id) ?? 0;
}

function addReader(
  hub: Hub,
  account: Account,
  opened: { listener: Listener; types: ReadonlySet<string>; from: number },
): Readable {
  const { timers, app } = hub;
  const { listener, types, from } = opened;
  const stream = openEventStream({
    source: {
      revision: () => account.revision,
      read: (after) => readShared(hub, account, after),
    },
    from,
    types,
    timers,
    disconnect: listener.disconnect,
    onClose() {
      account.readers.delete(reader);
      releaseSlot(hub, account);
    },
  });
  const check_at_ms = timers.now() + heartbeat_ms;
  const reader: Reader = { listener, stream, types, check_at_ms, checks: 0 };
  // Without readers the campaigns were not refreshed: their last snapshots are stale.
  if (!hasProgressReaders(account)) {
    account.progress = followCampaigns(app, account.id);
    account.campaigns_revision = -1;
  }
  sendProgress(account.progress.latest(), [reader]);
  account.readers.add(reader);
  // The token may have been revoked while the stream was being opened.
  void checkToken(hub, reader);
  scheduleTick(hub);
  return stream.readable;
}

/** Reads a page; concurrent readers at the same position share one read. */
function readShared(hub: Hub, account: Account, after: number): Promise<EventsPage> {
  // A read that began before the latest notification may not contain its events.
  const key = `${after} ${account.revision}`;
  const shared = account.reads.get(key);
  if (shared) return shared;
  hub.metrics.eventReads.inc();
  const read = async () => {
    try {
      const place = { after, limit: account.page_events };
      const page = await readEventsPage(hub.app.db.pool, account.id, place);
      account.head = page.head;
      account.page_events = page.limit;
      account.failures.succeeded();
      return page;
    } catch (err) {
      account.failures.failed(err);
      throw err;
    }
  };
  const reading = hub.reading.use(read).finally(() => account.reads.delete(key));
  account.reads.set(key, reading);
  return reading;
}

function concernsToken({ listener }: Reader, subject: string): boolean {
  const { account, token_id } = listener.caller;
  return (
    subject === tokenSubject(account.id, token_id) || subject === accountTokensSubject(account.id)
  );
}
