// What an erasure consists of: parts, one after the other, each in steps.
import type { App } from "../../engine/app.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { Awaited, ErasedKind } from "../erasure-schema.ts";

/** Whose data is erased, in the forms in which a number is stored. */
export type Person = {
  readonly account_id: number;
  /** E.164 digits. */
  readonly phone: string;
  /** As people and files of the account's country write it: ten digits; of another country all of them. */
  readonly digits: string;
  /** Finds it in a text, in any form without spaces, but not within a longer number; for PostgreSQL. */
  readonly pattern: string;
};

/** A recipient: campaign and id. */
export type Place = readonly [campaign_id: number, id: number];

/** How far an erasure is, as it is stored. */
export type Progress = {
  /** The place of the part in the list. */
  readonly part: number;
  /** Where the part goes on: its own; null at its beginning. */
  readonly at: unknown;
  /** Recipients to whom something is under way, to be looked at again. */
  readonly chat: readonly Place[];
  readonly voice: readonly Place[];
  /** Calls that were emptied, whose recordings are to be deleted. */
  readonly calls: readonly number[];
  readonly waiting_for: Awaited | null;
};

export const first_progress: Progress = {
  part: 0,
  at: null,
  chat: [],
  voice: [],
  calls: [],
  waiting_for: null,
};

/** What a step came to. */
export type Step = {
  /** Where the next step of the part goes on; null: the part is done. */
  readonly at: unknown;
  readonly counts?: Partial<Record<ErasedKind, number>>;
  readonly chat?: readonly Place[];
  readonly voice?: readonly Place[];
  readonly calls?: readonly number[];
  /** Nothing can be done before something else has come to its end: look again so much later. */
  readonly wait_ms?: number;
  /** What that is, where it may take longer than seconds. */
  readonly waiting_for?: Awaited;
};

export type StepContext = {
  readonly app: App;
  readonly person: Person;
  readonly progress: Progress;
  readonly stopping: AbortSignal;
  /** Runs in a transaction under the job's claim, which stores what the step came to as well: both or neither. */
  write(effect: (tx: Tx, now: Date) => Promise<Step>): Promise<Step>;
};

/** A step must write exactly once. */
export type Part = (context: StepContext) => Promise<Step>;

/** Rows that a step looks at where no index knows the number, and rows that one changes at most. */
export const scan_rows = 10_000;
export const change_rows = 500;
