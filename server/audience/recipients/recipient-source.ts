// The recipient source of a campaign: a list, a group, a file or the request body.
import type { LineThread } from "../../lib/csv/open-line-thread.ts";
import { statement, type Executor } from "../../lib/database/database.ts";
import { invalidField } from "../../lib/errors.ts";
import { openGroupMembers, type GroupMember } from "../groups/group-members.ts";
import { few_recipients_max } from "../intake/limits.ts";
import {
  openLineIntake,
  openRowIntake,
  type Intake,
  type IntakeCounts,
  type Recipient,
  type RecipientFormat,
  type Rejected,
  type Rejects,
  type SourceRow,
} from "../intake/open-intake.ts";
import type { FileProgress, FileTerms } from "../intake/run-file-thread.ts";

/** The result of reading a source: counts and rejected rows. */
export type IntakeSummary = IntakeCounts & { readonly rejects: Rejects };

export type FewRecipients<R> = IntakeSummary & { readonly recipients: readonly R[] };

export type RecipientSource<R> = {
  /** Reads all recipients into memory; null if there may be many of them, or they have long variables. */
  readonly readFew: (() => Promise<FewRecipients<R> | null>) | null;
  /** Yields COPY lines as openLineIntake writes them; may be read once. */
  lines(prefix: string | null): AsyncIterable<Uint8Array>;
  /** Returns the counts of the rows read so far. */
  counts(): IntakeCounts;
  /** Returns the result after the last line. */
  summary(): IntakeSummary;
};

type Batches<R> = AsyncIterable<readonly SourceRow<R>[]>;

/** Opens a source of about `count` rows, which `read` yields in batches. */
export function openBatchSource<R extends Recipient>(
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

/** Variables of few recipients, in characters: these are in memory twice while one statement stores them. */
const few_variables_max = 16_000_000;

async function readAll<R extends Recipient>(
  format: RecipientFormat<R>,
  batches: Batches<R>,
): Promise<FewRecipients<R> | null> {
  const intake = openRowIntake(format);
  let characters = 0;
  for await (const batch of batches)
    for (const row of batch) {
      intake.take(row);
      if ("phone" in row.recipient) characters += row.recipient.variables?.length ?? 0;
      if (characters > few_variables_max) return null;
    }
  return { ...summaryOf(intake), recipients: intake.recipients };
}

function summaryOf<R>(intake: Intake<R>): IntakeSummary {
  return { ...intake.counts(), rejects: intake.rejects() };
}

/**
 * Yields the rows of a group's members in phone order. Must not run on a connection that executes a COPY. Refuses:
 * validation-failed on `field` if the group does not exist, or is deleted before its last member is read.
 */
export async function* readGroup<R>(
  db: Executor,
  { account_id, group_id, field }: { account_id: number; group_id: number; field: string },
  validate: (member: GroupMember) => R | Rejected<string>,
): AsyncGenerator<readonly SourceRow<R>[]> {
  let before = 0;
  for await (const members of openGroupMembers(db, account_id, group_id)) {
    const first = before + 1;
    yield members.map((member, i) => ({
      row: first + i,
      value: member.phone,
      recipient: validate(member),
    }));
    before += members.length;
  }
  const [group] = await findGroup(db, [account_id, group_id]);
  if (!group) throw invalidField(field, "is not a group of this account");
}

const findGroup = statement(
  "select from groups where account_id = $1 and id = $2 and deleted_at is null",
);

/** A file of recipients that a thread is reading. */
export type RecipientFile<Terms extends FileTerms> = LineThread<Terms, FileProgress>;

/** Opens the source of a file whose columns are located. */
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
