// A log of all messages that the stub received, which proves that none is sent twice. A million messages take about
// 100 MB outside the heap.
import { closeSync, openSync, writeSync } from "node:fs";

const lines_per_page = 1_000;

export type LogEntry = {
  /** The time in milliseconds since 1970. */
  readonly at: number;
  /** biz_opaque_callback_data; "" if absent. */
  readonly message_id: string;
  readonly to: string;
  readonly phone_number_id: string;
  /** messages or marketing_messages. */
  readonly receiver: string;
  /** accepted, refuse:131056, cut_after_body, … */
  readonly outcome: string;
  /** The ID under which it was accepted, even if the sender got no response; "" if it was not accepted. */
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
  /** Returns `limit` entries from index `from`, in order of arrival. */
  entries(from?: number, limit?: number): LogEntry[];
  /** Returns every message ID that was received more than once, with how often it was received and accepted. */
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
      if (lines.length < lines_per_page) return;
      pages.push(Buffer.from(lines.join("\n")));
      lines = [];
    },
    get size() {
      return pages.length * lines_per_page + lines.length;
    },
    entries(from = 0, limit = Number.POSITIVE_INFINITY) {
      const found: LogEntry[] = [];
      for (let page = Math.floor(from / lines_per_page); page <= pages.length; page += 1) {
        const start = page * lines_per_page;
        const page_lines = page < pages.length ? pages[page]!.toString().split("\n") : lines;
        for (const line of page_lines.slice(Math.max(0, from - start))) {
          if (found.length >= limit) return found;
          found.push(parse(line));
        }
      }
      return found;
    },
    repeated() {
      const seen = new Map<string, { seen: number; taken: number }>();
      for (let page = 0; page <= pages.length; page += 1) {
        const page_lines = page < pages.length ? pages[page]!.toString().split("\n") : lines;
        for (const line of page_lines) {
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
