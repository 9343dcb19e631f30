// Reads changes of the business account, of which some end or restore its right to send.
import type { WebhookEvent } from "../driver.ts";
import { asRecord, asRecords, asText, type JsonRecord } from "./json.ts";
import { readTime } from "./read-person.ts";

const event_characters_max = 500;

type AccountEvent = Extract<WebhookEvent, { kind: "account" }>;

/** Returns the event, described in one line because the relevant fields differ between events. */
export function readAccountUpdate(field: string, value: JsonRecord, at: Date | null): AccountEvent {
  const event = `${field} ${JSON.stringify(value)}`.slice(0, event_characters_max).toWellFormed();
  const standing = field === "account_update" ? readStanding(value) : {};
  return { kind: "account", event, at, ...standing };
}

function readStanding(value: JsonRecord): Pick<AccountEvent, "may_send" | "until"> {
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

/** Of the restrictions, only those of messages to customers stop sending; one without a type does too. */
function readRestriction(info: unknown): Pick<AccountEvent, "may_send" | "until"> {
  const all = Array.isArray(info) ? asRecords(info) : [asRecord(info) ?? {}];
  const stopping = all.filter((one) => {
    const type = asText(one["restriction_type"]);
    return type === null || type === "RESTRICTED_BIZ_INITIATED_MESSAGING";
  });
  if (stopping.length === 0) return all.length === 0 ? { may_send: false, until: null } : {};
  const ends = stopping.map((one) => readEnd(one["expiration"]));
  const latest = ends.toSorted((a, b) => Number(b) - Number(a))[0]!;
  return { may_send: false, until: ends.includes(null) ? null : latest };
}

/** Meta documents seconds; ISO 8601 was seen, too. */
function readEnd(value: unknown): Date | null {
  const time = readTime(value) ?? new Date(asText(value) ?? Number.NaN);
  return Number.isNaN(time.getTime()) ? null : time;
}
