// Incoming calls: answered if the called number has a route, else refused as busy and recorded as missed.
import { setTimeout as delay } from "node:timers/promises";
import type { IncomingCall } from "../../../drivers/voice/driver.ts";
import { readPersonPhone } from "../../../audience/intake/read-person-phone.ts";
import { notifyJob } from "../../../engine/add-job.ts";
import { isDatabaseUnavailable } from "../../../lib/database/database-errors.ts";
import { traced } from "../../../lib/tracing/tracing.ts";
import { callName } from "../../state-machine/call.ts";
import type { VoiceContent } from "../../state-machine/voice-plan.ts";
import { executeCommands } from "../commands/execute-commands.ts";
import { promptTexts } from "../../state-machine/prompt-texts.ts";
import { prepareTexts } from "../commands/prepare-content.ts";
import { hasPlace, serializeClaim, trackCall } from "../dialer/place-calls.ts";
import {
  addRefusedCall,
  beginIncomingCall,
  findCalledNumber,
  findStoredCall,
  removeRefusedCall,
  type CalledNumber,
} from "../node/incoming-statements.ts";
import type { NodeTrunk } from "../node/node-state.ts";
import { callSpan } from "../node/call-span.ts";
import type { Leader } from "../node/leader.ts";
import { recordMissedCall } from "./record-missed-call.ts";

/** How soon a failed refusal is repeated, by a snapshot, and a stored call is taken over. */
const reconcile_ms = 500;

/** While the database is unavailable, a call waits, unanswered, for at most this long. */
const retry_for_ms = 20_000;
const retry_ms = 500;

/** The number that was called, and the trunk of its account over which the call came. */
type Called = CalledNumber & { readonly trunk: NodeTrunk };

/**
 * Answers the call, or records it as missed, once, and refuses it, also if recording fails. While the database is
 * unavailable, the call waits up to 20 s; the next node leader gets it if this one ends.
 */
export async function handleIncomingCall(leader: Leader, incoming: IncomingCall): Promise<void> {
  if (!leader.lease.mayProceed()) return;
  const { app, node_id } = leader;
  const { channel } = incoming;
  let account_id: number | null = null;
  try {
    const placed = await retryWhileUnavailable(leader, () => place(leader, incoming));
    if (placed === "answered") return;
    account_id = placed;
  } catch (err) {
    app.log.error({ err }, "could not answer or record an incoming call");
  }
  try {
    if (!leader.lease.mayProceed() || leader.over.aborted) return;
    await leader.session.refuse(channel);
  } catch (err) {
    app.log.warn({ err }, "could not refuse an incoming call; refusing it again");
    return leader.reconcileIn(reconcile_ms);
  }
  if (account_id === null) return;
  // If this fails, a later refusal deletes the row.
  await removeRefusedCall(app.db.pool, { account_id, node_id, channel }, app.clock.now()).catch(
    () => {},
  );
}

/** Answers the call, or records it as missed and returns the account; null without one. */
async function place(leader: Leader, incoming: IncomingCall): Promise<"answered" | number | null> {
  const called = await findCalled(leader, incoming);
  if (called && (await answer(leader, incoming, called))) return "answered";
  return leader.lease.mayProceed() ? recordRefused(leader, incoming, called) : null;
}

async function retryWhileUnavailable<Answer>(
  { app, lease, over }: Leader,
  work: () => Promise<Answer>,
): Promise<Answer> {
  const until_ms = performance.now() + retry_for_ms;
  for (;;) {
    try {
      return await work();
    } catch (err) {
      if (!isDatabaseUnavailable(err) || performance.now() >= until_ms) throw err;
      app.log.warn({ err }, "could not answer or record an incoming call; retrying");
      await delay(retry_ms, null, { signal: over }).catch(() => {});
      if (over.aborted || !lease.mayProceed()) throw err;
    }
  }
}

/**
 * Finds the number by its digits, among the accounts that may use a trunk of the endpoint. Null if there is none, or
 * if the digits do not name one account's number.
 */
async function findCalled(leader: Leader, incoming: IncomingCall): Promise<Called | null> {
  const digits = incoming.to.replaceAll(/\D/g, "");
  const found = await findCalledNumber(leader.app.db.pool, [digits]);
  const called = found.flatMap((number) => {
    const trunk = trunkOf(leader, incoming, number.account_id);
    return trunk ? [{ ...number, trunk }] : [];
  });
  const [first] = called;
  const isOnly = called.every(({ account_id }) => account_id === first?.account_id);
  return first && (isOnly || first.number === digits) ? first : null;
}

/** Returns the account's own trunk of the endpoint, else one for every account. */
function trunkOf(
  { trunks }: Leader,
  { endpoint }: IncomingCall,
  accountId: number,
): NodeTrunk | undefined {
  const usable = [...trunks.values()].filter(
    (trunk) =>
      trunk.endpoint === endpoint &&
      (trunk.only_account_id === null || trunk.only_account_id === accountId),
  );
  return usable.find(({ only_account_id }) => only_account_id !== null) ?? usable[0];
}

/**
 * Answers the call with the content of the number's route; false if it has none, or no place or audio for it. A call
 * that is stored already has its place: it is answered when its leader resumes it.
 */
async function answer(leader: Leader, incoming: IncomingCall, called: Called): Promise<boolean> {
  const { app, node_id, lease } = leader;
  const { account_id, country_code, number, content, trunk } = called;
  if (content === null || !(await mayAnswer(leader, called, content))) {
    const stored = await findStoredCall(app.db.pool, [account_id, node_id, incoming.channel]);
    if (stored.length > 0) leader.reconcileIn(reconcile_ms);
    return stored.length > 0;
  }
  const live = await serializeClaim(leader, async () => {
    if (!lease.mayProceed()) return null;
    const of = { account_id, node_id, trunk_id: trunk.id, fence: lease.fence, called: number };
    const phone = readPersonPhone(incoming.from, country_code) ?? "";
    const caller = { phone, channel: incoming.channel };
    const call = await beginIncomingCall(
      app.db.pool,
      { ...of, ...caller, content },
      app.clock.now(),
    );
    return call && (leader.calls.get(callName(call)) ?? trackCall(leader, call, trunk));
  });
  if (!live) return false;
  live.pending = live.pending.then(() =>
    traced("answer call", callSpan(live.call), () =>
      executeCommands(leader, live, [{ type: "answer", leg: 1 }]),
    ),
  );
  return true;
}

/** Whether the node and the trunk have a place for the call, and its content has its audio. */
async function mayAnswer(
  leader: Leader,
  { account_id, trunk }: Called,
  content: VoiceContent,
): Promise<boolean> {
  if (!hasPlace(leader, trunk)) return false;
  return (await prepareTexts(leader, account_id, promptTexts(content, {}))) === null;
}

/**
 * Records the refused call for the account of the number, else for the only account that uses the trunk's endpoint.
 * A number of no account on an endpoint of several accounts does not show which one is called. A call that a previous
 * node leader has recorded is not recorded again. Returns the account; null without one.
 */
async function recordRefused(
  leader: Leader,
  incoming: IncomingCall,
  called: Called | null,
): Promise<number | null> {
  const { app, node_id, trunks } = leader;
  const [trunk, ...others] = [...trunks.values()].filter(
    ({ endpoint }) => endpoint === incoming.endpoint,
  );
  const only = trunk?.only_account_id ?? null;
  const isShared = others.some(({ only_account_id }) => only_account_id !== only);
  const account_id = called?.account_id ?? (isShared ? null : only);
  if (!trunk || account_id === null) {
    app.log.info({ subject_id: trunk?.id ?? null }, "incoming call of no account refused");
    return null;
  }
  const now = app.clock.now();
  const phone = readPersonPhone(incoming.from, await findCountryCode(leader, account_id));
  const { to: called_number, channel } = incoming;
  const trunk_id = called?.trunk.id ?? trunk.id;
  const missed = { account_id, phone, called_number, trunk_id, subject: channel };
  await app.db.query.transaction().execute(async (tx) => {
    if (await addRefusedCall(tx, { account_id, node_id, channel }, now))
      await recordMissedCall(tx, missed, now);
  });
  notifyJob(app, account_id);
  return account_id;
}

async function findCountryCode({ app }: Leader, accountId: number): Promise<string> {
  const { country_code } = await app.db.query
    .selectFrom("accounts")
    .select("country_code")
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  return country_code;
}
