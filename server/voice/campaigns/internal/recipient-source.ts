// Whom a campaign calls, as they come in from a list, a group or a file, whichever it is.
import type { Caller } from "../../../accounts/caller.ts";
import type { App } from "../../../engine/app.ts";
import type { LineThread } from "../../../lib/csv/open-line-thread.ts";
import { invalidField, type Refusal } from "../../../lib/errors.ts";
import { bringMembers, bringNumbers } from "../intake/bring-people.ts";
import { small_recipients_max } from "../intake/limits.ts";
import type { Located } from "../intake/locate-columns.ts";
import { openIntake, type IntakeCounts, type Person, type Rejects } from "../intake/open-intake.ts";
import type { PeopleThreadTerms, PeopleThreadTold } from "../intake/people-thread.ts";
import {
  openLineSink,
  openPhoneSink,
  openRowSink,
  type RecipientRows,
  type RecipientTerms,
} from "../intake/sinks.ts";
import type { Source } from "./validate-voice-campaign.ts";
import type { PlanVariable } from "./plan-variables.ts";
import type { SendTo } from "../voice-campaign-schema.ts";

/** What became of everybody who came. */
export type Brought = IntakeCounts & { readonly rejects: Rejects };

export type Inflow = {
  /** Everybody at once, where they are few; else null. */
  readonly rows: (() => Promise<Brought & { readonly recipients: RecipientRows }>) | null;
  /** Lines of COPY, or phones a line where no terms are given; either is there once. */
  chunks(recipients: RecipientTerms | null): AsyncIterable<Uint8Array>;
  /** Once the chunks have ended. */
  brought(): Brought;
};

type Account = Pick<Caller["account"], "id" | "country_code">;

/** A file of recipients that is being read. */
export type PeopleFile = LineThread<PeopleThreadTerms, PeopleThreadTold>;

/** The inflow of a list or a group. */
export function openPeopleInflow(
  { db }: Pick<App, "db">,
  account: Account,
  source: Exclude<Source, { send_to: "csv" }>,
  variables: readonly PlanVariable[],
): Inflow {
  const people = () =>
    source.send_to === "Numbers"
      ? bringNumbers(source.list, account.country_code, variables)
      : bringMembers(db.pool, account, source.group_id, variables);
  return openInflow(source.count, people);
}

/** Reads the people anew each time. */
function openInflow(count: number, people: () => AsyncIterable<readonly Person[]>): Inflow {
  let brought: Brought | null = null;
  return {
    rows: count <= small_recipients_max ? () => gatherRows(people()) : null,
    async *chunks(recipients) {
      const sink = recipients ? openLineSink(recipients) : openPhoneSink();
      const intake = openIntake(sink);
      for await (const batch of people()) {
        for (const person of batch) intake.take(person);
        const chunk = sink.take(true);
        if (chunk) yield chunk;
      }
      brought = { ...intake.counts(), rejects: intake.rejects() };
    },
    brought: () => brought!,
  };
}

async function gatherRows(people: AsyncIterable<readonly Person[]>) {
  const sink = openRowSink();
  const intake = openIntake(sink);
  for await (const batch of people) for (const person of batch) intake.take(person);
  return { ...intake.counts(), rejects: intake.rejects(), recipients: sink.rows() };
}

/** The inflow of a file whose columns were found. */
export function openFileInflow(
  { country_code }: Account,
  file: PeopleFile,
  { number_at, variables }: Located,
): Inflow {
  return {
    rows: null,
    chunks: (recipients) => file.lines({ country_code, number_at, variables, recipients }),
    brought: () => {
      const { rejects, ...counts } = file.told()!;
      return { ...counts, rejects: rejects! };
    },
  };
}

/** The inflow of one number, for a test. */
export function openCallInflow(recipient: {
  readonly number: string;
  readonly phone: string;
  readonly variables: string;
}): Inflow {
  const { number, phone, variables } = recipient;
  const person: Person = { row: 1, value: number, phone, number, variables, missing: null };
  return openInflow(1, () => once([person]));
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value;
}

const fields: Readonly<Record<SendTo, string>> = {
  Numbers: "number",
  csv: "file",
  Group: "groupId",
};

/** What a campaign is refused with that would call nobody: says what was left out. */
export function nobodyLeft(sendTo: SendTo, { rejected, duplicates, rejects }: Brought): Refusal {
  if (rejected + duplicates === 0) return invalidField(fields[sendTo], "names nobody to call");
  return invalidField(
    fields[sendTo],
    `leaves nobody to call: ${rejected} rejected; row ${rejects.rows[0]} ${rejects.reasons[0]}`,
  );
}
