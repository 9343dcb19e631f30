// Stores a step of a call, and everything that must be true together with it.
import { statement, type Executor } from "../../lib/database.ts";
import type { Call, Leg } from "./call.ts";
import type { News } from "./news.ts";
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
  const { legs, plan: _plan, settings: _settings, starred: _starred, voice, ...row } = call;
  const changed = legs.filter((leg) => !before.legs.includes(leg));
  const values = [
    call.account_id,
    call.id,
    fence,
    JSON.stringify({ ...row, steps: before.steps + 1 }),
    JSON.stringify(changed.map((leg) => legRow(call, leg))),
    JSON.stringify(news.map(told)),
    isDurable(before, call, changed),
    now,
  ];
  const [answer] = voice
    ? await writeVoiceCall(db, [...values, ...noted(notes, now), recipientOf(call)])
    : await writeCall(db, values);
  return answer!.written;
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

function told({ type, at, data }: News) {
  return { type, at, data };
}
