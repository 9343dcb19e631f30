// The invariants of calls after all have ended, checked in the database and in the records of the
// switch and the carrier.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { parse } from "csv-parse/sync";
import type pg from "pg";
import type { RunningAsterisk } from "../../scripts/asterisk/start-asterisk.ts";
import { checkCalls, checkLedger } from "../support/check-invariants.ts";
import { eventually } from "../support/eventually.ts";
import type { Sipp } from "../support/sipp.ts";

/** The differences between billed legs and the switch's records. */
export type TraceFigures = {
  readonly calls: number;
  /** Answered legs with a record at the switch. */
  readonly billed_legs: number;
  /** Of these, legs whose answer or end differs by a quarter of a second or more. */
  readonly legs_off: number;
  /** Of these, legs that were billed a different number of pulses. */
  readonly pulses_off: number;
  /** The largest difference. */
  readonly off_max_ms: number;
};

type Leg = {
  readonly account_id: number;
  readonly call_id: number;
  readonly id: number;
  readonly role: "agent" | "customer" | "transfer";
  readonly number: string;
  readonly outcome: string;
  readonly answered_at: Date | null;
  readonly ended_at: Date;
  readonly pulse_seconds: number;
  /** A voice campaign's call: it has no agent leg. */
  readonly of_campaign: boolean;
};

type CallRecord = {
  readonly start_ms: number;
  readonly answer_ms: number;
  readonly end_ms: number;
};

/** A call as the carrier saw it, by its Call-ID. */
type Invited = { readonly number: string; readonly rung: boolean };

/**
 * Checks the invariants of calls and of the ledger; that no channel and no bridge is left at the switch;
 * that it has at most one record for each leg, and none for a leg that was never placed; that no customer
 * leg began before an agent of its call had answered; that the carrier saw at most one INVITE for
 * each customer leg and rang each customer at most once per attempt; and that exactly the legs that
 * were answered by the switch's records are billed.
 */
export async function checkCallTraces(
  client: pg.Client,
  asterisk: RunningAsterisk,
  carrier: Sipp,
): Promise<TraceFigures> {
  await checkLedger(client);
  await checkCalls(client);
  await awaitEmptySwitch(asterisk);
  const legs = await readLegs(client);
  const records = readRecords(asterisk.cdr_path);
  for (const leg of legs) {
    const found = records.get(legName(leg)) ?? [];
    assert.ok(found.length <= 1, `${legName(leg)} was dialed ${found.length} times`);
    if (leg.outcome === "unplaced")
      assert.equal(found.length, 0, `${legName(leg)} counts as unplaced and was placed`);
  }
  checkAgentsFirst(legs, records);
  await checkInvites(client, legs, readInvites(carrier.messages()));
  return {
    calls: new Set(legs.map(({ call_id }) => call_id)).size,
    ...compareBills(legs, records),
  };
}

async function awaitEmptySwitch(asterisk: RunningAsterisk): Promise<void> {
  const { ari_url, ari_user, ari_password } = asterisk;
  const headers = { authorization: `Basic ${btoa(`${ari_user}:${ari_password}`)}` };
  let left: unknown[] = [];
  await eventually(async () => {
    const lists = ["channels", "bridges"].map(async (what) => {
      const answer = await fetch(`${ari_url}/${what}`, { headers });
      return (await answer.json()) as unknown[];
    });
    left = (await Promise.all(lists)).flat();
    return left.length === 0;
  }).catch((error: unknown) => {
    throw new Error(`left at the switch: ${JSON.stringify(left)}`, { cause: error });
  });
}

async function readLegs(client: pg.Client): Promise<Leg[]> {
  const { rows } = await client.query<Leg>(`
    select l.account_id::int, l.call_id::int, l.id, l.role, l.number, l.outcome, l.answered_at,
      l.ended_at, a.call_pulse_seconds as pulse_seconds, c.recipient_id is not null as of_campaign
    from call_legs l join accounts a using (account_id)
    join calls c on c.account_id = l.account_id and c.id = l.call_id
    order by 1, 2, 3`);
  return rows;
}

function legName({ account_id, call_id, id }: Leg): string {
  return `trk-${account_id}-${call_id}-${id}`;
}

function readRecords(path: string): Map<string, CallRecord[]> {
  const records = new Map<string, CallRecord[]>();
  const text = existsSync(path) ? readFileSync(path, "utf8") : "";
  for (const [id = "", start, answer, end] of parse(text)) {
    const [start_ms = 0, answer_ms = 0, end_ms = 0] = [start, answer, end].map(
      (seconds) => Number(seconds) * 1_000,
    );
    // The leg's name, followed by a suffix of the switch.
    const [name = ""] = id.split("_");
    records.set(name, [...(records.get(name) ?? []), { start_ms, answer_ms, end_ms }]);
  }
  return records;
}

/** By the switch's times: no customer was called before an agent answered. */
function checkAgentsFirst(legs: readonly Leg[], records: ReadonlyMap<string, CallRecord[]>): void {
  for (const leg of legs) {
    const record = records.get(legName(leg))?.[0];
    if (leg.role !== "customer" || leg.of_campaign || !record) continue;
    const agents = legs.filter((of) => of.call_id === leg.call_id && of.role === "agent");
    // A switch that was killed between the ends of two legs recorded only one of them.
    if (agents.some((agent) => agent.answered_at && !records.has(legName(agent)))) continue;
    const answers = agents.flatMap((agent) => records.get(legName(agent))?.[0]?.answer_ms || []);
    assert.ok(
      answers.some((answer_ms) => answer_ms <= record.start_ms),
      `${legName(leg)} began at ${record.start_ms}, its agents answered at ${answers.join(", ")}`,
    );
  }
}

function readInvites(messages: string): readonly Invited[] {
  const invites = new Map<string, Invited>();
  for (const message of messages.split(/^-{20,}.*$/m)) {
    const call_id = /^Call-ID: *(\S+)/im.exec(message)?.[1];
    if (call_id === undefined) continue;
    const number = /^INVITE sip:\+?(\d+)@/m.exec(message)?.[1];
    const known = invites.get(call_id);
    if (number !== undefined && !known) invites.set(call_id, { number, rung: false });
    const isRung = /^SIP\/2\.0 (18\d|200) /m.test(message) && /^CSeq: *\d+ INVITE/im.test(message);
    if (known && isRung) invites.set(call_id, { ...known, rung: true });
  }
  return [...invites.values()];
}

/** At most one call per attempt, by number, because every call has a different customer. */
async function checkInvites(
  client: pg.Client,
  legs: readonly Leg[],
  invites: readonly Invited[],
): Promise<void> {
  const { rows } = await client.query<{ to_phone: string; attempts: number }>(
    "select to_phone, count(*)::int as attempts from calls group by 1",
  );
  const attempts = new Map(rows.map((row) => [row.to_phone, row.attempts]));
  for (const [number, seen] of Map.groupBy(invites, (invite) => invite.number)) {
    const placed = legs.filter((leg) => leg.number === number && leg.outcome !== "unplaced");
    assert.ok(
      seen.length <= placed.length,
      `${number}: ${seen.length} INVITEs, ${placed.length} legs`,
    );
    const rung = seen.filter((invite) => invite.rung).length;
    const most = attempts.get(number) ?? 0;
    assert.ok(rung <= most, `${number} was rung ${rung} times in ${most} attempts`);
  }
}

/** Smaller differences come from a slow machine. */
const off_ms = 250;

function compareBills(
  legs: readonly Leg[],
  records: ReadonlyMap<string, CallRecord[]>,
): Omit<TraceFigures, "calls"> {
  let [billed_legs, legs_off, pulses_off, off_max_ms] = [0, 0, 0, 0];
  for (const leg of legs) {
    const record = records.get(legName(leg))?.[0];
    if (!record) continue;
    assert.ok(
      leg.answered_at === null || record.answer_ms > 0,
      `${legName(leg)} is billed and was not answered`,
    );
    if (record.answer_ms === 0) continue;
    assert.ok(leg.answered_at, `${legName(leg)} was answered and is not billed`);
    billed_legs += 1;
    const [from_ms, to_ms] = [leg.answered_at.getTime(), leg.ended_at.getTime()];
    const gap_ms = Math.max(Math.abs(from_ms - record.answer_ms), Math.abs(to_ms - record.end_ms));
    off_max_ms = Math.round(Math.max(off_max_ms, gap_ms));
    if (gap_ms >= off_ms) legs_off += 1;
    const pulses = (ms: number) => Math.max(1, Math.ceil(ms / (leg.pulse_seconds * 1_000)));
    if (pulses(to_ms - from_ms) !== pulses(record.end_ms - record.answer_ms)) pulses_off += 1;
  }
  return { billed_legs, legs_off, pulses_off, off_max_ms };
}
