// What the live events of a process hold: its accounts that are listened to, and their readers.
import type { Caller } from "../accounts/caller.ts";
import type { App } from "../engine/app.ts";
import { Refusal } from "../lib/errors.ts";
import type { Metrics } from "../lib/metrics.ts";
import { openSlots, type Slots } from "../lib/slots.ts";
import type { Timers } from "../lib/timers.ts";
import { followCampaigns, type CampaignProgress } from "./campaign-progress.ts";
import type { EventStream } from "./open-event-stream.ts";
import { page_events_max, type EventsPage } from "./read-events-page.ts";

export const streams_of_account_max = 50;
const streams_max = 1_000;
/** Connections of the pool that streams read on at once. */
const reads_max = 4;

export type Listener = {
  readonly caller: Caller;
  /** The caller as they are now, or null when the token is none any more. */
  readonly again: () => Promise<Caller | null>;
  /** Of what the caller may hear, only these types. */
  readonly types: ReadonlySet<string>;
  /** The place after which to begin; null: now. */
  readonly from: number | null;
  /** Breaks the connection, unless all was sent. */
  readonly cut: () => void;
};

export type Reader = {
  readonly listener: Listener;
  readonly stream: EventStream;
  /** What is told to it. */
  types: ReadonlySet<string>;
  /** When its token is checked again. */
  check_at_ms: number;
  /** Counts the checks: only what the last one says holds. */
  checks: number;
};

export type Account = {
  readonly id: number;
  /** Also those being opened. */
  streams: number;
  readonly readers: Set<Reader>;
  /** Counts what was heard of new events. */
  news: number;
  /** The newest place that was seen. */
  head: number;
  /** Reads under way, by place and news: readers at one place share one. */
  readonly reads: Map<string, Promise<EventsPage>>;
  /** Events that are asked for at once. */
  page_events: number;
  progress: CampaignProgress;
  /** The news when its campaigns were looked at last. */
  looked_news: number;
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
    closed: false,
  };
}

export function readersOf(hub: Hub): Reader[] {
  return [...hub.accounts.values()].flatMap(({ readers }) => [...readers]);
}

export function hearNews(account: Account | undefined): void {
  if (!account) return;
  account.news += 1;
  for (const { stream } of account.readers) stream.wake();
}

/** Counts the stream before anything is waited for, so that the bounds hold. */
export function takePlace(hub: Hub, accountId: number): Account {
  if (hub.closed) throw stopping();
  if (hub.streams >= streams_max)
    throw new Refusal("unavailable", `This process has ${streams_max} streams open, its most`, {
      headers: { "retry-after": "5" },
    });
  const account = hub.accounts.get(accountId) ?? newAccount(hub, accountId);
  if (account.streams >= streams_of_account_max)
    throw new Refusal(
      "rate-limited",
      `This account has ${streams_of_account_max} streams open, its most; close one first`,
      { headers: { "retry-after": "5" } },
    );
  hub.accounts.set(accountId, account);
  account.streams += 1;
  hub.streams += 1;
  hub.metrics.eventStreams.set(hub.streams);
  return account;
}

export function leavePlace(hub: Hub, account: Account): void {
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
    news: 0,
    head: 0,
    reads: new Map(),
    page_events: page_events_max,
    progress: followCampaigns(app, id),
    looked_news: -1,
  };
}

/** 503: the process is about to end. */
export function stopping(): Refusal {
  return new Refusal("unavailable", "The service is stopping; connect again", {
    headers: { "retry-after": "1" },
  });
}
