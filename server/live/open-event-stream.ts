// One reader's stream: pulled by its socket, from a page at a time. What a slow reader has not taken is
// in the database, not here.
import { Readable } from "node:stream";
import type { Timers } from "../lib/timers.ts";
import { eventFrame } from "./event-frame.ts";
import type { EventsPage, LiveEvent } from "./read-events-page.ts";

/** What the stream reads from: the events of its account. */
export type EventSource = {
  /** Counts what was heard of new events: what is read after a change of it shows them. */
  news(): number;
  read(after: number): Promise<EventsPage>;
};

export type EventStream = {
  readonly readable: Readable;
  /** There may be something to tell. */
  wake(): void;
  /** From now on only these types are told; null: nothing, until it is known who listens. */
  show(types: ReadonlySet<string> | null): void;
  /** A sign of life, once all that there is has been told. */
  beat(): void;
  /** The newest of a campaign takes the place of one that was not told yet. */
  progress(type: string, campaign: string, frame: string): void;
  /** Tells why, if there is a reason, and ends; a reader that takes nothing is cut at once. */
  end(reason?: string): void;
  /** How long the reader has taken nothing of what waits for it. */
  stalledMs(): number;
};

/** How long a browser waits before it connects again. */
const retry_ms = 3_000;
/** Bytes handed to the socket at once, and bytes that wait for it. */
const chunk_bytes = 16_384;
/** What was handed over before the end is given so long to leave. */
const last_words_ms = 1_000;

type State = {
  readonly source: EventSource;
  readonly readable: Readable;
  /** Everything up to here is told, or none of the reader's. */
  cursor: number;
  /** The last id that the reader was told. */
  told_id: number;
  types: ReadonlySet<string> | null;
  /** What is told before any event, the opening and a resync. */
  first: string;
  waiting: LiveEvent[];
  readonly progress: Map<string, { readonly type: string; readonly frame: string }>;
  beats: boolean;
  /** The news that had been heard when all of it was read. */
  read_news: number;
  wanted: boolean;
  stalled_since_ms: number;
  pumping: boolean;
  over: boolean;
};

type Parts = {
  readonly source: EventSource;
  /** What comes after this place is told. */
  readonly from: number;
  readonly types: ReadonlySet<string>;
  readonly timers: Timers;
  /** Breaks the connection, unless all was sent. */
  readonly cut: () => void;
  /** Called once, however it ends. */
  readonly closed: () => void;
};

/** Opens a stream; it begins when its `readable` is read. */
export function openEventStream(parts: Parts): EventStream {
  const { source, from, types, timers, closed } = parts;
  const readable = new Readable({
    highWaterMark: chunk_bytes,
    read() {
      state.wanted = true;
      void pump(state, timers);
    },
    destroy(error, done) {
      state.over = true;
      closed();
      done(error);
    },
  });
  const state: State = {
    source,
    readable,
    cursor: from,
    told_id: from,
    types,
    first: eventFrame({ retry_ms, id: from }),
    waiting: [],
    progress: new Map(),
    beats: false,
    read_news: -1,
    wanted: false,
    stalled_since_ms: timers.now(),
    pumping: false,
    over: false,
  };
  const wake = () => void pump(state, timers);
  return {
    readable,
    wake,
    show(shown) {
      state.types = shown;
      wake();
    },
    beat() {
      state.beats = true;
      wake();
    },
    progress(type, campaign, frame) {
      state.progress.set(campaign, { type, frame });
      wake();
    },
    end: (reason) => end(state, parts, reason),
    stalledMs: () => (state.wanted ? 0 : timers.now() - state.stalled_since_ms),
  };
}

/** Tells what there is until the socket wants no more, or nothing is left. */
async function pump(state: State, timers: Timers): Promise<void> {
  if (state.pumping) return;
  state.pumping = true;
  try {
    while (state.wanted && !state.over) {
      const hasRead = state.types === null || state.read_news === state.source.news();
      const chunk = takeChunk(state) || (hasRead ? takeBeat(state) : "");
      if (chunk !== "") {
        state.wanted = state.readable.push(chunk);
        if (!state.wanted) state.stalled_since_ms = timers.now();
      } else if (hasRead) break;
      else await readMore(state);
    }
  } catch {
    // Whoever reads tells of it; the next second wakes the stream again.
  } finally {
    state.pumping = false;
  }
}

async function readMore(state: State): Promise<void> {
  const news = state.source.news();
  const { head, events, resync } = await state.source.read(state.cursor);
  if (resync !== null) {
    const data = JSON.stringify({ reason: resync, from: state.cursor, to: head });
    state.first = eventFrame({ id: head, event: "resync", data });
    state.cursor = head;
    state.told_id = head;
  }
  state.waiting = [...events];
  if ((events.at(-1)?.seq ?? state.cursor) >= head) state.read_news = news;
}

/** What is told next, as much as goes at once; "" when nothing is left. */
function takeChunk(state: State): string {
  if (state.types === null) return "";
  let chunk = state.first;
  state.first = "";
  while (chunk.length < chunk_bytes) {
    const event = state.waiting.shift();
    if (event === undefined) break;
    state.cursor = event.seq;
    if (!state.types.has(event.type)) continue;
    state.told_id = event.seq;
    chunk += event.frame;
  }
  for (const [campaign, { type, frame }] of state.progress) {
    if (chunk.length >= chunk_bytes) break;
    state.progress.delete(campaign);
    if (state.types.has(type)) chunk += frame;
  }
  return chunk;
}

/** With the place that was reached, where events were passed over: a resume begins there. */
function takeBeat(state: State): string {
  if (!state.beats || state.types === null) return "";
  state.beats = false;
  const id = state.cursor > state.told_id ? state.cursor : undefined;
  state.told_id = state.cursor;
  return eventFrame({ comment: "heartbeat", id });
}

function end(state: State, { timers, cut }: Parts, reason: string | undefined): void {
  const { readable } = state;
  if (state.over) return;
  state.over = true;
  if (!state.wanted) {
    readable.destroy();
    return cut();
  }
  const why = reason === undefined ? {} : { event: "end", data: JSON.stringify({ reason }) };
  readable.push(eventFrame({ retry_ms, ...why }));
  readable.push(null);
  // Taken or not: whoever stops reading now would keep the connection open.
  timers.schedule(cut, last_words_ms);
}
