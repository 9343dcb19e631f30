// What a report shows of each row: its name and its numbers, the first of which is drawn.
import type { CallReportRow, ChatReportRow } from "../../api/reports.ts";
import { formatCount, formatShare } from "../../ui/numbers.ts";

type Metric<Row> = {
  readonly header: string;
  readonly text: (row: Row) => string;
  readonly wide: boolean;
  /** What the number means, where its name alone could mislead. */
  readonly note?: string;
};

const count = <Row>(header: string, of: (row: Row) => number, wide = true): Metric<Row> => ({
  header,
  text: (row) => formatCount(of(row)),
  wide,
});

/** Days have no time zone: they are read and written in the same one. */
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeZone: "UTC" });

/** Writes a date such as `2026-11-22`, or the start of its day in UTC. */
export const formatDay = (date: string) => day.format(new Date(date));

const seconds_of_minute = 60;

export const chat_metrics: readonly Metric<Omit<ChatReportRow, "campaign_id">>[] = [
  count("Sent", ({ sent }) => sent, false),
  count("Delivered", ({ delivered }) => delivered),
  count("Read", ({ read }) => read),
  count("Replies", ({ replies }) => replies),
  count("Opt-outs", ({ opt_outs }) => opt_outs),
  count("Failed", ({ failed }) => failed, false),
  count("Credits", ({ credits }) => credits),
];

export const call_metrics: readonly Metric<Omit<CallReportRow, "campaign_id">>[] = [
  count("Calls", ({ calls }) => calls, false),
  count("Answered", ({ answered }) => answered, false),
  {
    header: "Answered per call",
    note: "Of the calls that ended, retries included. A campaign's answer rate is per person.",
    text: ({ answered, calls, in_progress }) => formatShare(answered, calls - in_progress),
    wide: true,
  },
  count("Busy", ({ busy }) => busy),
  count("No answer", ({ no_answer }) => no_answer),
  count("Failed", ({ failed }) => failed),
  count("Talk minutes", ({ talk_seconds }) => Math.round(talk_seconds / seconds_of_minute)),
];

/** What a row of messages is about. */
export function nameOfChatRow(row: ChatReportRow): string {
  if (row.date !== undefined) return formatDay(row.date);
  if (row.campaign_name !== undefined) return row.campaign_name ?? `Campaign ${row.campaign_id}`;
  return row.phone_number ? `+${row.phone_number}` : "Unknown number";
}

/** What a row of calls is about. */
export function nameOfCallRow(row: CallReportRow): string {
  if (row.date !== undefined) return formatDay(row.date);
  if (row.campaign_id !== undefined)
    return row.campaign_id === null
      ? "Clicks and incoming calls"
      : (row.campaign_name ?? `Campaign ${row.campaign_id}`);
  if (row.agent_number !== undefined)
    return row.agent_number === null
      ? "Without an agent"
      : `${row.agent_name ?? "Unknown"} (${row.agent_number})`;
  return row.caller_id ?? "Unknown number";
}
