// What can be set of an account, by the section of the API that it belongs to.
import type { FormField } from "../../ui/form-fields.tsx";
import { zoneName } from "../../ui/zone-name.ts";

export type SettingSection = {
  readonly title: string;
  /** Null: fields of the account itself. */
  readonly section: "chat" | "calls" | "credits" | "retention" | null;
  readonly fields: readonly FormField[];
};

const days = (name: string, label: string, empty = "No limit"): FormField => ({
  name,
  label,
  kind: "number",
  empty,
});

const time_zones = ["UTC", ...Intl.supportedValuesOf("timeZone").map(zoneName).toSorted()];

export const setting_sections: readonly SettingSection[] = [
  {
    title: "Account",
    section: null,
    fields: [
      { name: "name", label: "Name", kind: "text" },
      {
        name: "time_zone",
        label: "Time zone",
        kind: "choice",
        note: "Times without a zone are meant in it.",
        options: time_zones.map((value) => ({ value, label: value })),
      },
      {
        name: "country_code",
        label: "Country code",
        kind: "text",
        note: "Begins numbers of ten digits, such as 91. It cannot be changed while there are contacts.",
      },
    ],
  },
  {
    title: "Messages",
    section: "chat",
    fields: [
      {
        name: "stop_words",
        label: "Stop words",
        kind: "lines",
        note: "One a line. Whoever answers with one gets no more messages; the usual words of many languages count already.",
      },
      {
        name: "stop_scope",
        label: "A stop word ends",
        kind: "choice",
        options: [
          { value: "all", label: "All messages" },
          { value: "marketing", label: "Marketing messages" },
        ],
      },
      { name: "quiet_from", label: "No messages from", kind: "time", empty: "" },
      { name: "quiet_to", label: "Until", kind: "time", empty: "" },
      {
        name: "error_percent",
        label: "Pause a campaign if so many percent fail",
        kind: "number",
      },
      {
        name: "valid_numbers_only",
        label: "Omit numbers that cannot exist",
        kind: "check",
      },
    ],
  },
  {
    title: "Calls",
    section: "calls",
    fields: [
      {
        name: "calling_from",
        label: "Call from",
        kind: "time",
        note: "In the account's time zone, and where each customer is.",
      },
      { name: "calling_to", label: "Call until", kind: "text", note: "Such as 21:00, or 24:00." },
      { name: "night_calling", label: "Call at any time, also at night", kind: "check" },
      { name: "recorded", label: "Record calls", kind: "check" },
      {
        name: "calls_per_customer_day",
        label: "Calls to one customer in 24 hours",
        kind: "number",
        empty: "No limit",
      },
      { name: "customer_ring_seconds", label: "Seconds a customer's phone rings", kind: "number" },
      { name: "agent_ring_seconds", label: "Seconds an agent's phone rings", kind: "number" },
      { name: "talk_minutes_max", label: "Longest conversation in minutes", kind: "number" },
    ],
  },
  {
    title: "Low credit",
    section: "credits",
    fields: [
      {
        name: "chat_low",
        label: "Warn below so many message credits",
        kind: "number",
        note: "0: never.",
      },
      { name: "call_low", label: "Warn below so many call credits", kind: "number" },
    ],
  },
  {
    title: "How long data is kept, in days",
    section: "retention",
    fields: [
      days("messages_days", "Messages and replies"),
      days("calls_days", "Calls"),
      days("recordings_days", "Recordings", "As long as the calls"),
      days("events_days", "Events and their deliveries"),
      days("idempotency_keys_days", "Idempotency keys"),
      days("audit_days", "The audit trail (at least 365)"),
      days("ledger_days", "Single entries of the credit ledger (at least 365)"),
    ],
  },
];
