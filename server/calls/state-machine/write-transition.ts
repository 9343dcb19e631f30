// Stores call transitions.
import { statement, type Executor } from "../../lib/database/database.ts";
import type { Call, Leg } from "./call.ts";
import type { Notes, Transition } from "./events-and-commands.ts";
import { recipientOutcome } from "./transitions/recipient-outcome.ts";

const writeCall = statement<{ written: boolean }>(
  "select write_call($1, $2, $3, $4, $5, $6, $7, $8) as written",
);

const writeVoiceCall = statement<{ written: boolean }>(
  "select write_voice_call($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as written",
);

/**
 * Stores the transition from `before` under the fencing token, in one statement. Returns false if an earlier
 * try, whose response was lost, has stored it. At the end of a call the unused credit is released (settle_call
 * in SQL). Fails with TL001 (isLeaseLost), without any effect, if the call has ended or belongs to another node
 * leader.
 */
export async function writeTransition(
  db: Executor,
  fence: number,
  before: Call,
  { call, events, notes }: Omit<Transition, "commands">,
  now: Date,
): Promise<boolean> {
  const { row, legs, outbox, durable } = rowsOf(before, { call, events, notes });
  const rows = [row, legs, outbox].map((each) => JSON.stringify(each));
  const values = [call.account_id, call.id, fence, ...rows, durable, now];
  const [answer] = call.voice
    ? await writeVoiceCall(db, [...values, ...noteRows(notes, now), recipientRow(call)])
    : await writeCall(db, values);
  return answer!.written;
}

const writeCalls = statement<{ call_id: number; written: boolean }>(
  "select call_id, written from write_calls($1, $2, $3, $4, $5, $6)",
);

/** A transition without notes that does not end its call, and the call before it. */
export type BatchableTransition = {
  readonly before: Call;
  readonly next: Pick<Transition, "call" | "events">;
};

/**
 * Stores transitions of several calls of one account in one statement, as writeTransition does. Returns by
 * call ID whether each was written now; omits calls that have ended or belong to another node leader.
 */
export async function writeTransitions(
  db: Executor,
  fence: number,
  batch: readonly BatchableTransition[],
): Promise<ReadonlyMap<number, boolean>> {
  const all = batch.map(({ before, next }) => rowsOf(before, next));
  const rows = [
    all.map(({ row }) => row),
    all.flatMap(({ legs }) => legs),
    all.flatMap(({ outbox }) => outbox),
  ].map((each) => JSON.stringify(each));
  const { account_id } = batch[0]!.before;
  const durable = all.some((each) => each.durable);
  const answers = await writeCalls(db, [account_id, fence, ...rows, durable]);
  return new Map(answers.map(({ call_id, written }) => [call_id, written]));
}

/** Returns the rows that a transition changes. */
function rowsOf(
  before: Call,
  { call, events, notes }: Pick<Transition, "call" | "events"> & { notes?: Notes | undefined },
) {
  const { legs, click_to_call: _terms, settings: _settings, voice: _voice, ...stored } = call;
  const { starred: _starred, unpaid_at: _unpaid, ...row } = stored;
  const changed = legs.filter((leg) => !before.legs.includes(leg));
  return {
    row,
    legs: changed.map((leg) => legRow(call, leg)),
    outbox: events.map(({ type, at, data }) => ({ call_id: call.id, type, at, data })),
    durable: isDurable(before, call, changed, notes),
  };
}

/**
 * Whether the transition must survive a crash of the database: it starts, ends, bills or promises something, or has side
 * effects. Others, such as a key, need not: the next transition stores the whole call again, and after a crash of the
 * node leader, too, the call continues from before them.
 */
function isDurable(
  before: Call,
  call: Call,
  changed: readonly Leg[],
  { messages = [] }: Notes = {},
): boolean {
  return (
    before.stage !== call.stage ||
    changed.some(({ state }) => state !== "ringing") ||
    before.opted_out !== call.opted_out ||
    before.callback_at !== call.callback_at ||
    before.recording_state !== call.recording_state ||
    messages.some(({ state }) => state !== "recording")
  );
}

/** Returns the rows of menu steps, transcript and messages, each with its time. */
function noteRows(notes: Transition["notes"], at: Date): string[] {
  const { menu = [], said = [], messages = [] } = notes ?? {};
  return [menu, said, messages].map((rows) => JSON.stringify(rows.map((row) => ({ ...row, at }))));
}

function recipientRow(call: Call): string | null {
  const outcome = call.stage === "ended" ? recipientOutcome(call) : null;
  return outcome && JSON.stringify(outcome);
}

function legRow({ account_id, id }: Call, leg: Leg) {
  return { account_id, call_id: id, ...leg };
}
