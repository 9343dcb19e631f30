// Validates people one after the other as they come in from a file, a list or a group: those who are
// called go on to a sink, those who are not are listed with the reason. Loads little, for threads.
import { openNumberSet } from "../../../lib/open-number-set.ts";
import { rejects_listed_max } from "./limits.ts";

/** Takes who is called; `variables` is JSON text or null. */
export type RecipientSink = {
  add(id: number, recipient: { number: string; phone: string; variables: string | null }): void;
};

/** One who came. */
export type Person = {
  /** Of the file, whose header is row 1, or the place in the list. */
  readonly row: number;
  /** As it was given. */
  readonly value: string;
  /** E.164 digits; null: it is no number. */
  readonly phone: string | null;
  /** As calls show it. */
  readonly number: string;
  readonly variables: string | null;
  /** A variable that is needed and has no value. */
  readonly missing: string | null;
};

export type IntakeCounts = {
  readonly valid: number;
  readonly rejected: number;
  readonly duplicates: number;
};

/** Rows left out, by the same index. */
export type Rejects = {
  readonly rows: readonly number[];
  readonly values: readonly string[];
  readonly reasons: readonly string[];
};

export type Intake = {
  take(person: Person): void;
  counts(): IntakeCounts;
  /** Of each kind the first 100,000. */
  rejects(): Rejects;
};

const shown_characters_max = 64;
const number_reason = "is no number of ten digits, with or without the country code";
const duplicate_reason = "is the number of an earlier row";

/** Of equal numbers the first one that can be called stays. */
export function openIntake(sink: RecipientSink): Intake {
  const seen = openNumberSet();
  const counts = { valid: 0, rejected: 0, duplicates: 0 };
  const rejects = { rows: [] as number[], values: [] as string[], reasons: [] as string[] };
  const leaveOut = (kind: "rejected" | "duplicates", { row, value }: Person, reason: string) => {
    if (counts[kind]++ >= rejects_listed_max) return;
    rejects.rows.push(row);
    rejects.values.push(value.slice(0, shown_characters_max).toWellFormed());
    rejects.reasons.push(reason);
  };
  return {
    take(person) {
      const { phone, number, variables, missing } = person;
      if (phone === null) return leaveOut("rejected", person, number_reason);
      if (missing !== null)
        return leaveOut("rejected", person, `has no value for the variable ${missing}`);
      if (!seen.add(phone)) return leaveOut("duplicates", person, duplicate_reason);
      sink.add(++counts.valid, { number, phone, variables });
    },
    counts: () => ({ ...counts }),
    rejects: () => rejects,
  };
}
