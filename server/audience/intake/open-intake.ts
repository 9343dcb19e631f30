// Recipient intake: takes rows one by one, counts them, drops duplicates and lists rejected rows. Has few
// imports, because threads load it.
import { isBsuid } from "../../lib/bsuid.ts";
import { openLineBuffer } from "../../lib/csv/line-buffer.ts";
import { openNumberSet } from "../../lib/open-number-set.ts";
import { phoneKey } from "../../lib/phone-key.ts";

/** The fields of every recipient; a channel may add fields. */
export type Recipient = {
  /** E.164 digits; in chat, also a BSUID. */
  readonly phone: string;
  /** JSON text or null. */
  readonly variables: string | null;
};

/** Why a row is not a recipient. */
export type Rejected<Reason> = { readonly rejected: Reason };

/** A row after its channel validated it. */
export type SourceRow<R, Reason = string> = {
  /** The row in a file, whose header is row 1, or the position in a list. */
  readonly row: number;
  /** The number as sent. */
  readonly value: string;
  readonly recipient: R | Rejected<Reason>;
};

export type IntakeCounts = {
  readonly valid: number;
  readonly invalid: number;
  readonly duplicate: number;
  /** How many of the valid ones are a BSUID. */
  readonly bsuids: number;
};

/** Rejected rows in row order, as parallel arrays. */
export type Rejects<Reason = string> = {
  readonly rows: readonly number[];
  /** Each cut at 64 characters. */
  readonly values: readonly string[];
  readonly reasons: readonly Reason[];
};

/** How a channel stores recipients, and which rows it lists as rejected. */
export type RecipientFormat<R, Reason = string> = {
  /** The COPY statement that reads the lines. */
  readonly copy_sql: string;
  /** Returns the columns after the prefix, in COPY's text format; `position` counts valid recipients from 1. */
  columnsOf(recipient: R, position: number): string;
  /** Most rows listed of each kind, invalid and duplicate. */
  readonly rejects_max: number;
  /** Null: duplicates are not listed. */
  readonly duplicate_reason: Reason | null;
};

export type Intake<R, Reason = string> = {
  /** Takes one row; of several rows with the same phone in any spelling, the first valid one counts. */
  take(row: SourceRow<R, Reason>): void;
  counts(): IntakeCounts;
  rejects(): Rejects<Reason>;
};

const shown_characters_max = 64;

function openIntake<R extends { readonly phone: string }, Reason>(
  format: RecipientFormat<R, Reason>,
  add: (recipient: R, position: number) => void,
): Intake<R, Reason> {
  const counts = { valid: 0, invalid: 0, duplicate: 0, bsuids: 0 };
  const seen = openNumberSet();
  const seen_bsuids = new Set<string>();
  const isNew = (phone: string) => {
    if (!isBsuid(phone)) return seen.add(phoneKey(phone));
    const before = counts.bsuids;
    counts.bsuids = seen_bsuids.add(phone).size;
    return counts.bsuids > before;
  };
  const rejects = { rows: [] as number[], values: [] as string[], reasons: [] as Reason[] };
  const reject = (
    kind: "invalid" | "duplicate",
    { row, value }: SourceRow<R, Reason>,
    reason: Reason | null,
  ) => {
    if (counts[kind]++ >= format.rejects_max || reason === null) return;
    rejects.rows.push(row);
    rejects.values.push(value.slice(0, shown_characters_max).toWellFormed());
    rejects.reasons.push(reason);
  };
  return {
    take(row) {
      const { recipient } = row;
      if ("rejected" in recipient) return reject("invalid", row, recipient.rejected);
      if (!isNew(recipient.phone)) return reject("duplicate", row, format.duplicate_reason);
      add(recipient, ++counts.valid);
    },
    counts: () => ({ ...counts }),
    rejects: () => rejects,
  };
}

/** Opens an intake that collects recipients in memory. */
export function openRowIntake<R extends { readonly phone: string }, Reason>(
  format: RecipientFormat<R, Reason>,
): Intake<R, Reason> & { readonly recipients: readonly R[] } {
  const recipients: R[] = [];
  const intake = openIntake(format, (recipient) => void recipients.push(recipient));
  return { ...intake, recipients };
}

/**
 * Opens an intake that writes a COPY line for each recipient: the prefix (the first columns, each with its
 * tab) and the channel's columns. Without a prefix, a line is the phone.
 */
export function openLineIntake<R extends { readonly phone: string }, Reason>(
  format: RecipientFormat<R, Reason>,
  prefix: string | null,
): Intake<R, Reason> & { takeLines(all?: boolean): Uint8Array | null } {
  const lines = openLineBuffer();
  const intake = openIntake(format, (recipient, position) =>
    lines.add(
      prefix === null
        ? `${recipient.phone}\n`
        : `${prefix}${format.columnsOf(recipient, position)}\n`,
    ),
  );
  return { ...intake, takeLines: lines.take };
}
