// Where a campaign's recipients come from, whichever it is: a list, a group, a file or a body.
import type { LineThread } from "../../lib/csv/open-line-thread.ts";
import type { Executor } from "../../lib/database/database.ts";
import { openGroupMembers, type GroupMember } from "../groups/group-members.ts";
import { few_recipients_max } from "../intake/limits.ts";
import {
  openLineIntake,
  openRowIntake,
  type Intake,
  type IntakeCounts,
  type RecipientFormat,
  type Rejected,
  type Rejects,
  type SourceRow,
} from "../intake/open-intake.ts";
import type { FileProgress, FileTerms } from "../intake/run-file-thread.ts";

/** What became of all rows of a source. */
export type IntakeSummary = IntakeCounts & { readonly rejects: Rejects };

export type RecipientSource<R> = {
  /** Reads all recipients, where they are few; null where they are many, or in a file. */
  readonly readFew: (() => Promise<IntakeSummary & { readonly recipients: readonly R[] }>) | null;
  /** Lines of COPY, as openLineIntake makes them; once. */
  lines(prefix: string | null): AsyncIterable<Uint8Array>;
  /** What became of the rows so far, as the lines come. */
  counts(): IntakeCounts;
  /** Once the lines have ended. */
  summary(): IntakeSummary;
};

type Batches<R> = AsyncIterable<readonly SourceRow<R>[]>;

/** Opens the source of about `count` rows that come in batches; `read` reads them. */
export function openBatchSource<R extends { readonly phone: string }>(
  format: RecipientFormat<R>,
  count: number,
  read: () => Batches<R>,
): RecipientSource<R> {
  let intake: Intake<R> | null = null;
  return {
    readFew: count <= few_recipients_max ? () => readAll(format, read()) : null,
    async *lines(prefix) {
      const opened = openLineIntake(format, prefix);
      intake = opened;
      for await (const batch of read()) {
        for (const row of batch) opened.take(row);
        const lines = opened.takeLines(true);
        if (lines) yield lines;
      }
    },
    counts: () => intake!.counts(),
    summary: () => summaryOf(intake!),
  };
}

async function readAll<R extends { readonly phone: string }>(
  format: RecipientFormat<R>,
  batches: Batches<R>,
) {
  const intake = openRowIntake(format);
  for await (const batch of batches) for (const row of batch) intake.take(row);
  return { ...summaryOf(intake), recipients: intake.recipients };
}

function summaryOf<R>(intake: Intake<R>): IntakeSummary {
  return { ...intake.counts(), rejects: intake.rejects() };
}

/** The rows of a group's members, in the order of their phones. Does not run within a COPY. */
export async function* readGroup<R>(
  db: Executor,
  accountId: number,
  groupId: number,
  validate: (member: GroupMember) => R | Rejected<string>,
): AsyncGenerator<readonly SourceRow<R>[]> {
  let before = 0;
  for await (const members of openGroupMembers(db, accountId, groupId)) {
    const first = before + 1;
    yield members.map((member, i) => ({
      row: first + i,
      value: member.phone,
      recipient: validate(member),
    }));
    before += members.length;
  }
}

/** A file of recipients that is being read. */
export type RecipientFile<Terms extends FileTerms> = LineThread<Terms, FileProgress>;

/** Opens the source of a file whose columns were located. */
export function openFileSource<Terms extends FileTerms>(
  file: RecipientFile<Terms>,
  termsOf: (prefix: string | null) => Terms,
): RecipientSource<never> {
  return {
    readFew: null,
    lines: (prefix) => file.lines(termsOf(prefix)),
    counts: () => file.progress()!.counts,
    summary() {
      const { counts, rejects } = file.progress()!;
      return { ...counts, rejects: rejects! };
    },
  };
}
