// An erasure consists of parts, one after the other, each in steps.
import type { App } from "../../engine/app.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { WaitReason, ErasedKind } from "../erasure-schema.ts";

/** The person whose data is erased, in every form in which the identities are stored. */
export type Person = {
  readonly account_id: number;
  readonly erasure_id: number;
  /** E.164 digits: the number, then its aliases at WhatsApp; empty while only a WhatsApp user ID is known. */
  readonly phones: readonly string[];
  /** Every spelling of `phones`. */
  readonly spellings: readonly string[];
  /** The WhatsApp user IDs that are known to be the person's. */
  readonly bsuids: readonly string[];
  /** The keys of the person's suppressions. */
  readonly keys: readonly string[];
  /** Every form in which a call may store the number of its agent's side. */
  readonly numbers: readonly string[];
  /** Each spelling without the calling code of the account's country, where ten digits or more are left. */
  readonly digits: readonly string[];
  /** A LIKE pattern for each of `digits` and `bsuids`; one of them matches every text that `pattern` matches. */
  readonly texts: readonly string[];
  /** A PostgreSQL regular expression for the identities, not within a longer number or word. */
  readonly pattern: string;
};

/** A recipient: campaign and recipient id. */
export type RecipientRef = readonly [campaign_id: number, id: number];

/** The stored progress of an erasure. */
export type Progress = {
  /** The index of the part in the list. */
  readonly part: number;
  /** The part's own position; null at its beginning. */
  readonly at: unknown;
  /** Recipients with a message or call in progress, which are checked again. */
  readonly chat: readonly RecipientRef[];
  readonly voice: readonly RecipientRef[];
  readonly waiting_for: WaitReason | null;
};

export const first_progress: Progress = {
  part: 0,
  at: null,
  chat: [],
  voice: [],
  waiting_for: null,
};

/** The result of a step. */
export type Step = {
  /** The position of the part's next step; null: the part is done. */
  readonly at: unknown;
  readonly counts?: Partial<Record<ErasedKind, number>>;
  readonly chat?: readonly RecipientRef[];
  readonly voice?: readonly RecipientRef[];
  /** The part waits for something else to end: the job runs again after this time. */
  readonly wait_ms?: number;
  /** What it waits for, if that may take longer than seconds. */
  readonly waiting_for?: WaitReason;
};

export type StepContext = {
  readonly app: App;
  readonly person: Person;
  readonly progress: Progress;
  readonly stopping: AbortSignal;
  /** Runs `effect` and stores the step's result in one transaction, under the job's claim. */
  write(effect: (tx: Tx, now: Date) => Promise<Step>): Promise<Step>;
};

/** Runs one step of a part; it must call `write` exactly once. */
export type Part = (context: StepContext) => Promise<Step>;

/** Rows that a step scans where no index contains the number, and rows that a step changes, at most. */
export const scan_rows = 10_000;
export const change_rows = 500;
