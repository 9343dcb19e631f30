// One reader's stream: its socket pulls it, and it reads a page at a time. Events that a slow reader has not
// received yet stay in the database and are not buffered.
import { Readable } from "node:stream";
import type { Timers } from "../lib/timers.ts";
import { eventFrame } from "./event-frame.ts";
import type { EventsPage, LiveEvent } from "./read-events-page.ts";

/** The source of a stream: the events of its account. */
export type EventSource = {
  /** Incremented by each notification about new events; a read that begins after it returns them. */
  revision(): number;
  read(after: number): Promise<EventsPage>;
};

export type EventStream = {
  readonly readable: Readable;
  /** Checks for events to send. */
  wake(): void;
  /** Sends only these types from now on; null: sends nothing until the reader's token is checked. */
  setTypes(types: ReadonlySet<string> | null): void;
  /** Sends a heartbeat after all available events. */
  sendHeartbeat(): void;
  /** Sends a campaign's progress, in place of an older one that is not sent yet. */
  sendProgress(type: string, campaign: string, frame: string): void;
  /** Sends the reason, if any, and ends the stream; a stalled reader is disconnected immediately. */
  end(reason?: string): void;
  /** Returns for how long the reader has not received the data that waits for it. */
  stalledMs(): number;
};

/** How long a browser waits before it reconnects. */
const retry_ms = 3_000;
/** Bytes per write to the socket, and bytes that may wait for it. */
const chunk_bytes = 16_384;
/** How long a connection may take to send its remaining data after the end. */
const flush_ms = 1_000;

type State = {
  readonly source: EventSource;
  readonly readable: Readable;
  /** Every event up to this seq was sent or is not for the reader. */
  cursor: number;
  /** The last id sent. */
  sent_id: number;
  types: ReadonlySet<string> | null;
  /** A frame to send before any event: the opening or a resync. */
  first: string;
  waiting: LiveEvent[];
  readonly progress: Map<string, { readonly type: string; readonly frame: string }>;
  heartbeat: boolean;
  /** The revision up to which all events were read. */
  read_revision: number;
  /** The socket accepts more data. */
  writable: boolean;
  stalled_since_ms: number;
  pumping: boolean;
  over: boolean;
};

type StreamOptions = {
  readonly source: EventSource;
  /** The stream begins after this seq. */
  readonly from: number;
  readonly types: ReadonlySet<string>;
  readonly timers: Timers;
  /** Closes the connection, unless everything was sent. */
  readonly disconnect: () => void;
  /** Called once when the stream ends for any reason. */
  readonly onClose: () => void;
};

/** Opens a stream; it begins when its `readable` is read. */
export function openEventStream(options: StreamOptions): EventStream {
  const { source, from, types, timers, onClose } = options;
  const readable = new Readable({
    highWaterMark: chunk_bytes,
    read() {
      state.writable = true;
      void pump(state, timers);
    },
    destroy(error, done) {
      state.over = true;
      onClose();
      done(error);
    },
  });
  const state: State = {
    source,
    readable,
    cursor: from,
    sent_id: from,
    types,
    first: eventFrame({ retry_ms, id: from }),
    waiting: [],
    progress: new Map(),
    heartbeat: false,
    read_revision: -1,
    writable: false,
    stalled_since_ms: timers.now(),
    pumping: false,
    over: false,
  };
  const wake = () => void pump(state, timers);
  return {
    readable,
    wake,
    setTypes(visible) {
      state.types = visible;
      wake();
    },
    sendHeartbeat() {
      state.heartbeat = true;
      wake();
    },
    sendProgress(type, campaign, frame) {
      state.progress.set(campaign, { type, frame });
      wake();
    },
    end: (reason) => end(state, options, reason),
    stalledMs: () => (state.writable ? 0 : timers.now() - state.stalled_since_ms),
  };
}

/** Sends what is available until the socket's buffer is full or nothing is left. */
async function pump(state: State, timers: Timers): Promise<void> {
  if (state.pumping) return;
  state.pumping = true;
  try {
    while (state.writable && !state.over) {
      const hasRead = state.types === null || state.read_revision === state.source.revision();
      const chunk = takeChunk(state) || (hasRead ? takeHeartbeat(state) : "");
      if (chunk !== "") {
        state.writable = state.readable.push(chunk);
        if (!state.writable) state.stalled_since_ms = timers.now();
      } else if (hasRead) break;
      else await readMore(state);
    }
  } catch {
    // The shared read has logged the error; the next tick wakes the stream again.
  } finally {
    state.pumping = false;
  }
}

async function readMore(state: State): Promise<void> {
  const revision = state.source.revision();
  const { head, events, resync } = await state.source.read(state.cursor);
  if (resync !== null) {
    const data = JSON.stringify({ reason: resync, from: state.cursor, to: head });
    state.first = eventFrame({ id: head, event: "resync", data });
    state.cursor = head;
    state.sent_id = head;
  }
  state.waiting = [...events];
  if ((events.at(-1)?.seq ?? state.cursor) >= head) state.read_revision = revision;
}

/** Returns the next frames, about `chunk_bytes`; "" when nothing is left. */
function takeChunk(state: State): string {
  if (state.types === null) return "";
  let chunk = state.first;
  state.first = "";
  while (chunk.length < chunk_bytes) {
    const event = state.waiting.shift();
    if (event === undefined) break;
    state.cursor = event.seq;
    if (!state.types.has(event.type)) continue;
    state.sent_id = event.seq;
    chunk += event.frame;
  }
  for (const [campaign, { type, frame }] of state.progress) {
    if (chunk.length >= chunk_bytes) break;
    state.progress.delete(campaign);
    if (state.types.has(type)) chunk += frame;
  }
  return chunk;
}

/** Returns a heartbeat. After events that are not for the reader it has an id, so that a resume skips them. */
function takeHeartbeat(state: State): string {
  if (!state.heartbeat || state.types === null) return "";
  state.heartbeat = false;
  const id = state.cursor > state.sent_id ? state.cursor : undefined;
  state.sent_id = state.cursor;
  return eventFrame({ comment: "heartbeat", id });
}

function end(
  state: State,
  { timers, disconnect }: StreamOptions,
  reason: string | undefined,
): void {
  const { readable } = state;
  if (state.over) return;
  state.over = true;
  if (!state.writable) {
    readable.destroy();
    return disconnect();
  }
  const event = reason === undefined ? {} : { event: "end", data: JSON.stringify({ reason }) };
  readable.push(eventFrame({ retry_ms, ...event }));
  readable.push(null);
  // A reader that stops reading now must not keep the connection open.
  timers.schedule(disconnect, flush_ms);
}
