// Reads changes of the business account, of which some end or restore its right to send.
import type { WebhookEvent } from "../driver.ts";
import { asRecord, asRecords, asText, type JsonRecord } from "./json.ts";
import { readTime } from "./read-person.ts";

const event_characters_max = 500;

const stopping_types: ReadonlySet<string> = new Set([
  "RESTRICTED_BIZ_INITIATED_MESSAGING",
  "RESTRICTED_CUSTOMER_INITIATED_MESSAGING",
]);

type AccountEvent = Extract<WebhookEvent, { kind: "account" }>;
type Standing = Pick<AccountEvent, "may_send" | "may_answer" | "until">;

/** Returns the event, described in one line because the relevant fields differ between events. */
export function readAccountUpdate(field: string, value: JsonRecord, at: Date | null): AccountEvent {
  const event = `${field} ${JSON.stringify(value)}`.slice(0, event_characters_max).toWellFormed();
  const standing = field === "account_update" ? readStanding(value) : {};
  return { kind: "account", event, at, ...standing };
}

function readStanding(value: JsonRecord): Standing {
  switch (value["event"]) {
    case "ACCOUNT_DELETED":
      return { may_send: false, until: null };
    case "DISABLED_UPDATE": {
      const state = asText(asRecord(value["ban_info"])?.["waba_ban_state"]);
      // SCHEDULE_FOR_DISABLE announces; the account still sends.
      if (state === "SCHEDULE_FOR_DISABLE") return {};
      return state === "REINSTATE" ? { may_send: true } : { may_send: false, until: null };
    }
    case "ACCOUNT_RESTRICTION":
      return readRestriction(value["restriction_info"]);
    default:
      return {};
  }
}

/**
 * Of the restrictions, only those of messages to customers stop sending; one without a type does too. Meta forbids
 * answers only by a type of its own, at a later stage.
 */
function readRestriction(info: unknown): Standing {
  const all = Array.isArray(info) ? asRecords(info) : [asRecord(info) ?? {}];
  if (all.length === 0) return { may_send: false, until: null };
  const stopping = all
    .map(({ restriction_type, expiration }) => ({ type: asText(restriction_type), expiration }))
    .filter(({ type }) => type === null || stopping_types.has(type));
  if (stopping.length === 0) return {};
  const may_answer = stopping.every(({ type }) => type === "RESTRICTED_BIZ_INITIATED_MESSAGING");
  const ends = stopping.map(({ expiration }) => readEnd(expiration));
  const latest = ends.toSorted((a, b) => Number(b) - Number(a))[0]!;
  return { may_send: false, may_answer, until: ends.includes(null) ? null : latest };
}

/** Meta documents seconds; ISO 8601 was seen, too. */
function readEnd(value: unknown): Date | null {
  const time = readTime(value) ?? new Date(asText(value) ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? null : time;
}
