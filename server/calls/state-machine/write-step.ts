// Stores a step of a call, and everything that must be true together with it.
import { statement, type Executor } from "../../lib/database/database.ts";
import type { Call, Leg } from "./call.ts";
import type { Step } from "./events-and-acts.ts";
import { recipientAfter } from "./recipient-after.ts";

const writeCall = statement<{ written: boolean }>(
  "select write_call($1, $2, $3, $4, $5, $6, $7, $8) as written",
);

const writeVoiceCall = statement<{ written: boolean }>(
  "select write_voice_call($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12) as written",
);

/**
 * Stores a step, which came out of `before`, under the leader's fence, in one statement. False when it
 * stands already: an earlier try was written whose answer was lost. Fails with TL001 (isLeaseLost)
 * and writes nothing when the call is another leader's by now, or over.
 */
export async function writeStep(
  db: Executor,
  fence: number,
  before: Call,
  { call, news, notes }: Omit<Step, "acts">,
  now: Date,
): Promise<boolean> {
  const { row, legs, events, durable } = rowsOf(before, { call, news });
  const rows = [row, legs, events].map((each) => JSON.stringify(each));
  const values = [call.account_id, call.id, fence, ...rows, durable, now];
  const [answer] = call.voice
    ? await writeVoiceCall(db, [...values, ...noted(notes, now), recipientOf(call)])
    : await writeCall(db, values);
  return answer!.written;
}

const writeCalls = statement<{ call_id: number; written: boolean }>(
  "select call_id, written from write_calls($1, $2, $3, $4, $5, $6)",
);

/** A step that ends nothing and notes nothing, and what it came out of. */
export type SmallStep = { readonly before: Call; readonly next: Pick<Step, "call" | "news"> };

/**
 * Stores steps of several calls of one account, as writeStep does, in one statement. By the call's id, whether
 * it was written now; a call that is another leader's by now, or over, is left out.
 */
export async function writeSteps(
  db: Executor,
  fence: number,
  steps: readonly SmallStep[],
): Promise<ReadonlyMap<number, boolean>> {
  const all = steps.map(({ before, next }) => rowsOf(before, next));
  const rows = [
    all.map(({ row }) => row),
    all.flatMap(({ legs }) => legs),
    all.flatMap(({ events }) => events),
  ].map((each) => JSON.stringify(each));
  const { account_id } = steps[0]!.before;
  const durable = all.some((each) => each.durable);
  const answers = await writeCalls(db, [account_id, fence, ...rows, durable]);
  return new Map(answers.map(({ call_id, written }) => [call_id, written]));
}

/** What a step changes, as the database takes it. */
function rowsOf(before: Call, { call, news }: Pick<Step, "call" | "news">) {
  const { legs, plan: _plan, settings: _settings, starred: _starred, voice: _voice, ...row } = call;
  const changed = legs.filter((leg) => !before.legs.includes(leg));
  return {
    row: { ...row, steps: before.steps + 1 },
    legs: changed.map((leg) => legRow(call, leg)),
    events: news.map(({ type, at, data }) => ({ call_id: call.id, type, at, data })),
    durable: isDurable(before, call, changed),
  };
}

/** What begins a leg, is billed or decides must outlive the database's crash; that it rings need not. */
function isDurable(before: Call, call: Call, changed: readonly Leg[]): boolean {
  return before.stage !== call.stage || changed.some(({ state }) => state !== "ringing");
}

/** The way through the menu, what was said, messages: each with its time. */
function noted(notes: Step["notes"], at: Date): string[] {
  const { menu = [], said = [], messages = [] } = notes ?? {};
  return [menu, said, messages].map((rows) => JSON.stringify(rows.map((row) => ({ ...row, at }))));
}

function recipientOf(call: Call): string | null {
  const after = call.stage === "ended" ? recipientAfter(call) : null;
  return after && JSON.stringify(after);
}

function legRow({ account_id, id }: Call, leg: Leg) {
  return { account_id, call_id: id, ...leg };
}
