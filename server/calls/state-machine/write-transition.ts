// Stores transitions of calls.
import { statement, type Executor } from "../../lib/database/database.ts";
import type { Call, Leg } from "./call.ts";
import type { Transition } from "./events-and-commands.ts";
import { recipientOutcome } from "./transitions/recipient-outcome.ts";

const writeCall = statement<{ written: boolean }>(
  "select write_call($1, $2, $3, $4, $5, $6, $7, $8) as written",
);

const writeVoiceCall = statement<{ written: boolean }>(
  "select write_voice_call($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as written",
);

/**
 * Stores the transition from `before` under the fencing token, in one statement. Returns false when it is
 * already stored: the answer to an earlier try was lost. At the end of a call the unused credit is released
 * (settle_call in SQL). Fails with TL001 (isLeaseLost), writing nothing, when the call belongs to another
 * node leader, or is over.
 */
export async function writeTransition(
  db: Executor,
  fence: number,
  before: Call,
  { call, events, notes }: Omit<Transition, "commands">,
  now: Date,
): Promise<boolean> {
  const { row, legs, outbox, durable } = rowsOf(before, { call, events });
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
 * Stores transitions of several calls of one account, as writeTransition does, in one statement. Returns by
 * call id whether each was written now; a call of another node leader, or one that is over, is left out.
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

/** The rows that a transition changes. */
function rowsOf(before: Call, { call, events }: Pick<Transition, "call" | "events">) {
  const { legs, plan: _plan, settings: _settings, voice: _voice, ...stored } = call;
  const { starred: _starred, unpaid_at: _unpaid, ...row } = stored;
  const changed = legs.filter((leg) => !before.legs.includes(leg));
  return {
    row,
    legs: changed.map((leg) => legRow(call, leg)),
    outbox: events.map(({ type, at, data }) => ({ call_id: call.id, type, at, data })),
    durable: isDurable(before, call, changed),
  };
}

/** Everything but ringing must survive a crash of the database: it begins, bills or decides something. */
function isDurable(before: Call, call: Call, changed: readonly Leg[]): boolean {
  return before.stage !== call.stage || changed.some(({ state }) => state !== "ringing");
}

/** Menu steps, transcript and messages, each with its time. */
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
