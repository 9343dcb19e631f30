// Reads server-sent events, can pause, and keeps the last event ID and the retry time, as a browser does.
import { request, type IncomingMessage } from "node:http";

export type ReceivedEvent = {
  /** The event's ID, or the last one before it. */
  readonly id: number | null;
  readonly event: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read data of every shape
  readonly data: any;
};

export type EventReader = {
  readonly response: IncomingMessage;
  readonly events: readonly ReceivedEvent[];
  /** The number of comments (heartbeats) received. */
  comments(): number;
  /** The event id to resume from. */
  lastId(): number | null;
  retryMs(): number | null;
  hasEnded(): boolean;
  /** Returns the data of the events of this type, by default of all except the stream's control events. */
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  dataOf(event?: string): any[];
  close(): void;
};

/** Opens a stream; resolves when the response begins. With `paused` it reads nothing until the test resumes `response`. */
export async function readEvents(
  url: string,
  options: {
    /** Absent: the headers have a session's cookie. */
    readonly token?: string;
    readonly query?: string;
    readonly headers?: Readonly<Record<string, string>>;
    readonly paused?: true;
  },
): Promise<EventReader> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { token } = options;
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...options.headers,
  };
  const sent = request(`${url}/api/v1/events${options.query ?? ""}`, { agent: false, headers });
  sent.on("response", resolve);
  sent.on("error", reject);
  sent.end();
  const response = await promise;
  sent.on("error", () => {});
  const events: ReceivedEvent[] = [];
  const kept: Kept = { id: null, retry_ms: null, comments: 0, ended: false, rest: "" };
  response.setEncoding("utf8");
  response.on("data", (text: string) => take(text, kept, events));
  response.on("error", () => {});
  response.on("close", () => (kept.ended = true));
  if (options.paused) response.pause();
  return {
    response,
    events,
    comments: () => kept.comments,
    lastId: () => kept.id,
    retryMs: () => kept.retry_ms,
    hasEnded: () => kept.ended,
    dataOf: (event) =>
      events
        .filter((one) => (event === undefined ? "data" in one.data : one.event === event))
        .map(({ data }) => data.data ?? data),
    close: () => sent.destroy(),
  };
}

type Kept = {
  id: number | null;
  retry_ms: number | null;
  comments: number;
  ended: boolean;
  rest: string;
};

/** Parses messages as in the standard: an empty line ends a message, and one without data is not an event. */
function take(text: string, kept: Kept, events: ReceivedEvent[]): void {
  const messages = (kept.rest + text).split("\n\n");
  kept.rest = messages.pop()!;
  for (const message of messages) {
    let event = "message";
    let data = "";
    for (const line of message.split("\n")) {
      const [, field, value] = /^(\w*): (.*)$/s.exec(line) ?? [];
      if (field === "") kept.comments += 1;
      else if (field === "id") kept.id = Number(value);
      else if (field === "retry") kept.retry_ms = Number(value);
      else if (field === "event") event = value!;
      else if (field === "data") data = value!;
      else throw new Error(`not a line of an event stream: ${line}`);
    }
    if (data !== "") events.push({ id: kept.id, event, data: JSON.parse(data) });
  }
}
