import { useEffect, useMemo } from "react";
import type { webhooks } from "./api-types.ts";
import { queryClient } from "./query-client.ts";

type EventType = keyof webhooks | "chat.campaign.progress" | "voice.campaign.progress";
type Listener = (data: Record<string, unknown>) => void;

const retry_ms = 3_000;
const refresh_ms = 500;
const listeners = new Map<EventType, Set<Listener>>();
let source: EventSource | null = null;
let last_id: string | null = null;
let retrying: ReturnType<typeof setTimeout> | undefined;

/**
 * Calls `listener` with the data of each event of a type while the component is shown. All listeners of a tab share one
 * stream. A tab that is hidden closes it, because a browser has six connections to a host, and resumes where it was.
 */
export function useEvents(types: readonly EventType[], listener: Listener): void {
  const key = types.join();
  useEffect(() => {
    for (const type of types) listenersOf(type).add(listener);
    connect();
    return () => {
      for (const type of types) listenersOf(type).delete(listener);
    };
  }, [key, listener]);
}

/** Reads the queries that begin with `key` again after events of the types, at most twice a second. */
export function useRefresh(types: readonly EventType[], key: readonly unknown[]): void {
  const name = JSON.stringify(key);
  const refresh = useMemo(() => {
    let waiting = false;
    return () => {
      if (waiting) return;
      waiting = true;
      setTimeout(() => {
        waiting = false;
        void queryClient.invalidateQueries({ queryKey: JSON.parse(name) as unknown[] });
      }, refresh_ms);
    };
  }, [name]);
  useEvents(types, refresh);
}

document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));

function listenersOf(type: EventType): Set<Listener> {
  let found = listeners.get(type);
  if (!found) {
    found = new Set();
    listeners.set(type, found);
    // A type that the open stream does not listen to yet.
    source?.addEventListener(type, receive);
  }
  return found;
}

function connect(): void {
  if (source || document.hidden || listeners.size === 0) return;
  clearTimeout(retrying);
  const url = new URL("/api/v1/events", location.origin);
  if (last_id !== null) url.searchParams.set("last_event_id", last_id);
  source = new EventSource(url);
  for (const type of listeners.keys()) source.addEventListener(type, receive);
  source.addEventListener("error", () => {
    // The browser reconnects by itself unless the answer was not a stream, as while the server starts.
    if (source?.readyState !== EventSource.CLOSED) return;
    disconnect();
    retrying = setTimeout(connect, retry_ms);
  });
}

function disconnect(): void {
  clearTimeout(retrying);
  source?.close();
  source = null;
}

function receive({ type, data, lastEventId }: MessageEvent<string>): void {
  if (lastEventId !== "") last_id = lastEventId;
  const event = JSON.parse(data) as { data: Record<string, unknown> };
  for (const listener of listeners.get(type as EventType) ?? []) listener(event.data);
}
