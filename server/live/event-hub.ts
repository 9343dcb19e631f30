// The event hub of a process: the accounts with open streams, and their readers.
import type { Caller } from "../accounts/caller.ts";
import type { App } from "../engine/app.ts";
import { openFailureLog, type FailureLog } from "../engine/failure-log.ts";
import { Refusal } from "../lib/errors.ts";
import type { Metrics } from "../lib/metrics.ts";
import { openSlots, type Slots } from "../lib/slots.ts";
import type { Timers } from "../lib/timers.ts";
import { followCampaigns, type CampaignProgress } from "./campaign-progress.ts";
import type { EventStream } from "./open-event-stream.ts";
import { page_events_max, type EventsPage } from "./read-events-page.ts";

export const streams_of_account_max = 50;
const streams_max = 1_000;
/** Database connections that streams may use concurrently. */
const reads_max = 4;

export type Listener = {
  readonly caller: Caller;
  /** Resolves with the caller's current state; null when the token has become invalid. */
  readonly reauthenticate: () => Promise<Caller | null>;
  /** The requested types; the stream contains those that the caller may receive. */
  readonly types: ReadonlySet<string>;
  /** The seq after which the stream begins; null: the newest. */
  readonly from: number | null;
  /** Closes the connection, unless everything was sent. */
  readonly disconnect: () => void;
};

export type Reader = {
  readonly listener: Listener;
  readonly stream: EventStream;
  /** The types that the stream contains. */
  types: ReadonlySet<string>;
  /** When its token is checked next. */
  check_at_ms: number;
  /** The number of checks: the result of an earlier check is ignored. */
  checks: number;
};

export type Account = {
  readonly id: number;
  /** Open streams, including those that are being opened. */
  streams: number;
  readonly readers: Set<Reader>;
  /** Incremented by each notification about new events. */
  revision: number;
  /** The newest seq that was read. */
  head: number;
  /** Reads in flight, by position and revision: readers at the same position share one. */
  readonly reads: Map<string, Promise<EventsPage>>;
  /** Events to read per page. */
  page_events: number;
  /** Of reading the account's events. */
  readonly failures: FailureLog;
  progress: CampaignProgress;
  /** The revision at the last refresh of the campaigns. */
  campaigns_revision: number;
};

export type Hub = {
  readonly app: App;
  readonly metrics: Metrics;
  readonly timers: Timers;
  readonly accounts: Map<number, Account>;
  readonly reading: Slots;
  streams: number;
  ticking: boolean;
  polling: boolean;
  /** Of polling. */
  readonly failures: FailureLog;
  closed: boolean;
};

export function newHub(app: App, metrics: Metrics, timers: Timers): Hub {
  return {
    app,
    metrics,
    timers,
    accounts: new Map(),
    reading: openSlots(reads_max, streams_max),
    streams: 0,
    ticking: false,
    polling: false,
    failures: openFailureLog(app, {
      fields: {},
      failed: "could not poll events for streams; retrying",
      succeeded: "events for streams are polled again",
    }),
    closed: false,
  };
}

export function readersOf(hub: Hub): Reader[] {
  return [...hub.accounts.values()].flatMap(({ readers }) => [...readers]);
}

export function announceEvents(account: Account | undefined): void {
  if (!account) return;
  account.revision += 1;
  for (const { stream } of account.readers) stream.wake();
}

/** Reserves a stream synchronously, so that the limits hold. Refuses: unavailable, rate-limited. */
export function acquireSlot(hub: Hub, accountId: number): Account {
  if (hub.closed) throw stopping();
  if (hub.streams >= streams_max)
    throw new Refusal(
      "unavailable",
      `This process has the maximum of ${streams_max} open streams`,
      {
        headers: { "retry-after": "5" },
      },
    );
  const account = hub.accounts.get(accountId) ?? newAccount(hub, accountId);
  if (account.streams >= streams_of_account_max)
    throw new Refusal(
      "rate-limited",
      `This account has the maximum of ${streams_of_account_max} open streams; close one first`,
      { headers: { "retry-after": "5" } },
    );
  hub.accounts.set(accountId, account);
  account.streams += 1;
  hub.streams += 1;
  hub.metrics.eventStreams.set(hub.streams);
  return account;
}

export function releaseSlot(hub: Hub, account: Account): void {
  account.streams -= 1;
  hub.streams -= 1;
  hub.metrics.eventStreams.set(hub.streams);
  if (account.streams === 0) hub.accounts.delete(account.id);
}

function newAccount({ app }: Hub, id: number): Account {
  return {
    id,
    streams: 0,
    readers: new Set(),
    revision: 0,
    head: 0,
    reads: new Map(),
    page_events: page_events_max,
    failures: openFailureLog(app, {
      fields: { account_id: id },
      failed: "could not read events for streams; retrying",
      succeeded: "events for streams are read again",
    }),
    progress: followCampaigns(app, id),
    campaigns_revision: -1,
  };
}

/** Returns the refusal of a process that is stopping (503). */
export function stopping(): Refusal {
  return new Refusal("unavailable", "The service is stopping; connect again", {
    headers: { "retry-after": "1" },
  });
}
