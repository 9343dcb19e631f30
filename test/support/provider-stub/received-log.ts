// What the stub received, in its own memory: the validate of "never twice". A million messages take
// about 100 MB, outside the heap.
import { closeSync, openSync, writeSync } from "node:fs";

const lines_a_page = 1_000;

export type LogEntry = {
  /** Milliseconds since 1970. */
  readonly at: number;
  /** biz_opaque_callback_data; "" when there was none. */
  readonly message_id: string;
  readonly to: string;
  readonly phone_number_id: string;
  /** messages or marketing_messages. */
  readonly receiver: string;
  /** accepted, refuse:131056, cut_after_body, … */
  readonly outcome: string;
  /** The id under which it was taken, whether or not the sender was told; "" when it was not taken. */
  readonly provider_message_id: string;
};

export type Repeated = {
  readonly message_id: string;
  readonly seen: number;
  readonly taken: number;
};

export type ReceivedLog = {
  add(entry: LogEntry): void;
  readonly size: number;
  /** `limit` entries from the `from`-th on, in the order they came. */
  entries(from?: number, limit?: number): LogEntry[];
  /** Every message id that came more than once, with how often it came and was taken. */
  repeated(): Repeated[];
  clear(): void;
  close(): void;
};

/** Keeps the log in memory, and appends each entry to `file` (tab-separated) within 50 ms. */
export function openReceivedLog(file?: string): ReceivedLog {
  const fd = file === undefined ? null : openSync(file, "a");
  let pages: Buffer[] = [];
  let lines: string[] = [];
  let unwritten: string[] = [];
  const write = () => {
    if (fd !== null && unwritten.length > 0) writeSync(fd, `${unwritten.join("\n")}\n`);
    unwritten = [];
  };
  const timer = fd === null ? undefined : setInterval(write, 50);
  const log: ReceivedLog = {
    add({ at, message_id, to, phone_number_id, receiver, outcome, provider_message_id }) {
      const line = `${at}\t${message_id}\t${to}\t${phone_number_id}\t${receiver}\t${outcome}\t${provider_message_id}`;
      lines.push(line);
      if (fd !== null) unwritten.push(line);
      if (lines.length < lines_a_page) return;
      pages.push(Buffer.from(lines.join("\n")));
      lines = [];
    },
    get size() {
      return pages.length * lines_a_page + lines.length;
    },
    entries(from = 0, limit = Number.POSITIVE_INFINITY) {
      const found: LogEntry[] = [];
      for (let page = Math.floor(from / lines_a_page); page <= pages.length; page += 1) {
        const start = page * lines_a_page;
        const ofPage = page < pages.length ? pages[page]!.toString().split("\n") : lines;
        for (const line of ofPage.slice(Math.max(0, from - start))) {
          if (found.length >= limit) return found;
          found.push(parse(line));
        }
      }
      return found;
    },
    repeated() {
      const seen = new Map<string, { seen: number; taken: number }>();
      for (let page = 0; page <= pages.length; page += 1) {
        const ofPage = page < pages.length ? pages[page]!.toString().split("\n") : lines;
        for (const line of ofPage) {
          const start = line.indexOf("\t") + 1;
          const message_id = line.slice(start, line.indexOf("\t", start));
          const taken = line.endsWith("\t") ? 0 : 1;
          const so_far = seen.get(message_id);
          if (so_far === undefined) seen.set(message_id, { seen: 1, taken });
          else {
            so_far.seen += 1;
            so_far.taken += taken;
          }
        }
      }
      seen.delete("");
      return [...seen].flatMap(([message_id, times]) =>
        times.seen > 1 ? { message_id, ...times } : [],
      );
    },
    clear() {
      pages = [];
      lines = [];
    },
    close() {
      clearInterval(timer);
      write();
      if (fd !== null) closeSync(fd);
    },
  };
  return log;
}

function parse(line: string): LogEntry {
  const [at, message_id, to, phone_number_id, receiver, outcome, provider_message_id] =
    line.split("\t");
  return {
    at: Number(at),
    message_id: message_id!,
    to: to!,
    phone_number_id: phone_number_id!,
    receiver: receiver!,
    outcome: outcome!,
    provider_message_id: provider_message_id!,
  };
}
