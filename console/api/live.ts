import { useEffect, useMemo } from "react";
import type { webhooks } from "./api-types.ts";
import { api } from "./client.ts";
import { isAbout, type Subject } from "./event-subject.ts";
import { ApiProblem } from "./problem.ts";
import { queryClient } from "./query-client.ts";
import { areWritesRefused } from "./session-changes.ts";
import { shownNow } from "./shown-user.ts";

type EventType = keyof webhooks | "chat.campaign.progress" | "voice.campaign.progress";
/** An event as callbacks receive it. */
export type LiveEvent = {
  readonly type: string;
  readonly timestamp: string;
  readonly data: Record<string, unknown>;
};
type Listener = (data: Record<string, unknown>, event: LiveEvent) => void;

/** Messages between the tabs of a browser. What a tab streams is of its user, whose tabs alone may show it. */
type Message =
  | { readonly kind: "event"; readonly owner: string | undefined; readonly event: StreamedEvent }
  /** A new tab asks for the types that the others listen to. */
  | { readonly kind: "hello" }
  | { readonly kind: "wants"; readonly types: readonly string[] }
  /** Another tab has begun to stream; without an ID to resume at, events may be missing. */
  | { readonly kind: "opened"; readonly owner: string | undefined; readonly resumed: boolean };
type StreamedEvent = { readonly type: string; readonly data: string; readonly id: string };

/** After a refusal. Meanwhile what is shown is read again, so this is also the pace of a page without a stream. */
const retry_ms = 5_000;
const refresh_ms = 500;
/** How often a page reads what changes with the progress of a campaign, but is not in its events. */
export const details_ms = 5_000;
/** How often a page reads counts that the service makes from all calls of a campaign. */
export const counts_ms = 30_000;
const name_of_lock = "trunkline-live";
const listeners = new Map<string, Set<Listener>>();
/** The types that any tab listens to: the one that streams must know them. */
const wanted = new Set<string>();
const channel = new BroadcastChannel(name_of_lock);
/** Ends this tab's wait for the stream, or its stream. */
let holding: AbortController | null = null;
let source: EventSource | null = null;
let last_id: string | null = null;
/** The stream was refused before an event gave an ID to resume at, so events may be missing. */
let isBehind = false;
let retrying: ReturnType<typeof setTimeout> | undefined;

const refreshAll = refresherOf([]);
// oxlint-disable-next-line require-post-message-target-origin -- A channel is of one origin; windows have targets.
const broadcast = (message: Message) => channel.postMessage(message);
const ownerNow = () => shownNow()?.owner;

/**
 * Calls `listener` with the data of each event of a type while the component is shown. One tab of the browser streams
 * for all, because a browser has six connections to a host. A hidden tab ends its stream, and one in view resumes at
 * the last event.
 */
export function useEvents(types: readonly EventType[], listener: Listener): void {
  const key = types.join();
  useEffect(() => {
    for (const type of types) listenersOf(type).add(listener);
    broadcast({ kind: "wants", types });
    listenTo(types);
    holdStream();
    return () => {
      for (const type of types) listenersOf(type).delete(listener);
    };
  }, [key, listener]);
}

/**
 * Reads the queries that begin with `key` again after events of the types that are about the subject, if one is given:
 * at most once in `every_ms`.
 */
export function useRefresh(
  types: readonly EventType[],
  key: readonly unknown[],
  subject: Subject = {},
  every_ms = refresh_ms,
): void {
  const name = JSON.stringify([key, subject]);
  const listener = useMemo(() => {
    const [queryKey, about] = JSON.parse(name) as [unknown[], Subject];
    const refresh = refresherOf(queryKey, every_ms);
    return (data: LiveEvent["data"]) => {
      if (isAbout(data, about)) refresh();
      // Another page may have an answer under the key that the event is about.
      else void queryClient.invalidateQueries({ queryKey, refetchType: "none" });
    };
  }, [name, every_ms]);
  useEvents(types, listener);
}

/**
 * Returns what reads the queries that begin with a key again while the tab is in view: at most once in `every_ms`, and a
 * list of several pages as often as makes one request in it.
 */
function refresherOf(key: readonly unknown[], every_ms = refresh_ms): () => void {
  let isDue = false;
  let isRunning = false;
  const run = async () => {
    isRunning = true;
    while (isDue) {
      await pause(every_ms);
      await untilShown();
      isDue = false;
      await readAgain(key);
      // A list takes a request for each page that was loaded: long ones are read less often.
      for (let page = 1; page < pagesOf(key); page++) await pause(every_ms);
    }
    isRunning = false;
  };
  return () => {
    isDue = true;
    if (!isRunning) void run();
  };
}

const pause = (ms: number) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
  });

/** The pages of the longest list in view whose key begins with this one. */
function pagesOf(queryKey: readonly unknown[]): number {
  const queries = queryClient.getQueryCache().findAll({ queryKey, type: "active" });
  const lists = queries.map(({ state }) => state.data as { pages?: unknown } | undefined);
  return Math.max(1, ...lists.map((list) => (Array.isArray(list?.pages) ? list.pages.length : 1)));
}

async function untilShown(): Promise<void> {
  while (document.hidden)
    await new Promise((resolve) => {
      document.addEventListener("visibilitychange", resolve, { once: true });
    });
}

/** Running requests end first: if each event cancelled them, none would end while events are steady. */
async function readAgain(queryKey: readonly unknown[]): Promise<void> {
  const running = queryClient.getQueryCache().findAll({ queryKey, fetchStatus: "fetching" });
  await Promise.allSettled(running.map(async ({ promise }) => promise));
  await queryClient.invalidateQueries({ queryKey });
}

channel.addEventListener("message", ({ data: message }: MessageEvent<Message>) => {
  if (message.kind === "hello") broadcast({ kind: "wants", types: [...wanted] });
  else if (message.kind === "wants") listenTo(message.types);
  else if (message.owner === ownerNow()) receiveOwn(message);
});
broadcast({ kind: "hello" });

function receiveOwn(message: Extract<Message, { owner: unknown }>): void {
  if (message.kind === "event") dispatch(message.event);
  else if (!message.resumed) refreshAll();
}

document.addEventListener("visibilitychange", () => (document.hidden ? release() : holdStream()));

/** Ends this tab's stream: the next one may be of another user, who must not resume at an event of this one. */
export function endStream(): void {
  release();
  last_id = null;
  isBehind = false;
}

function release(): void {
  holding?.abort();
  holding = null;
}

function listenersOf(type: string): Set<Listener> {
  const found = listeners.get(type) ?? new Set();
  listeners.set(type, found);
  return found;
}

function listenTo(types: readonly string[]): void {
  for (const type of types) {
    if (wanted.has(type)) continue;
    wanted.add(type);
    source?.addEventListener(type, receive);
  }
}

/** Streams as soon as no other tab does, until this one is hidden or its session ends; not while another user is signed in. */
export function holdStream(): void {
  const hasListeners = [...listeners.values()].some(({ size }) => size > 0);
  if (holding || document.hidden || !hasListeners || areWritesRefused()) return;
  holding = new AbortController();
  const { signal } = holding;
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener("abort", () => {
      disconnect();
      resolve();
    });
  });
  navigator.locks
    .request(name_of_lock, { signal }, () => {
      connect();
      return ended;
    })
    // Hidden before the stream was free.
    .catch(() => {});
}

function connect(): void {
  const url = new URL("/api/v1/events", location.origin);
  if (last_id !== null) url.searchParams.set("last_event_id", last_id);
  broadcast({ kind: "opened", owner: ownerNow(), resumed: last_id !== null });
  source = new EventSource(url);
  source.addEventListener("open", () => {
    if (!isBehind) return;
    isBehind = false;
    catchUp();
  });
  source.addEventListener("resync", ({ lastEventId }: MessageEvent<string>) => {
    last_id = lastEventId;
    catchUp();
  });
  for (const type of wanted) source.addEventListener(type, receive);
  source.addEventListener("error", () => {
    // The browser reconnects by itself unless the answer was not a stream, as while the server starts.
    if (source?.readyState !== EventSource.CLOSED) return;
    isBehind = last_id === null;
    disconnect();
    retrying = setTimeout(() => void reconnect(holding!.signal), retry_ms);
  });
}

/** The stream does not say why it was refused: an answer of the API does, and a 401 leads to the sign-in. */
async function reconnect(signal: AbortSignal): Promise<void> {
  const error = await api.GET("/api/v1/me").then(
    () => null,
    (caught: unknown) => caught,
  );
  const status = error instanceof ApiProblem ? error.status : 0;
  if (signal.aborted) return;
  // Another tab may have a session before this one.
  if (status === 401) return release();
  // An account with too many streams is refused for as long as it has them. Without an answer, all pages would ask
  // a service that is not available.
  if (error === null || (status >= 400 && status < 500)) catchUp();
  connect();
}

/** Reads again what all tabs show, because events may be missing. */
function catchUp(): void {
  broadcast({ kind: "opened", owner: ownerNow(), resumed: false });
  refreshAll();
}

function disconnect(): void {
  clearTimeout(retrying);
  source?.close();
  source = null;
}

function receive({ type, data, lastEventId: id }: MessageEvent<string>): void {
  const event = { type, data, id };
  broadcast({ kind: "event", owner: ownerNow(), event });
  dispatch(event);
}

function dispatch({ type, data, id }: StreamedEvent): void {
  if (id !== "") last_id = id;
  const event = JSON.parse(data) as LiveEvent;
  for (const listener of listeners.get(type) ?? []) listener(event.data, event);
}
