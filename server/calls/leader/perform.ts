// What a step asks of the switch.
import { setTimeout as delay } from "node:timers/promises";
import { VoiceError, type Dial, type Ending } from "../../drivers/voice/driver.ts";
import { settledWithin } from "../../lib/settled-within.ts";
import { callName, legName, type Agent, type Call } from "../state-machine/call.ts";
import { findLeg, liveLegs } from "../state-machine/legs.ts";
import type { Act, Obstacle, TransferredBy } from "../state-machine/events-and-acts.ts";
import { step } from "../state-machine/step.ts";
import { findExtension } from "./find-extension.ts";
import { mayAct, type Leader, type LiveCall } from "./leader.ts";
import { topUp } from "./leader-statements.ts";
import { obstacleOfDial } from "./obstacles.ts";
import { performVoice } from "./perform-voice.ts";

/** A dial whose fate is unknown is looked for at the switch so soon. */
const look_ms = 500;
const canceled: Ending = { outcome: "canceled", cause: null, sip_status: null, by: "us" };
const unreachable: Ending = {
  outcome: "unreachable",
  cause: null,
  sip_status: null,
  by: "far_end",
};

/**
 * Does the acts in order. Dialling goes on by itself: it waits for its turn. What fails is asked for
 * again after the next comparison with the switch; nothing is begun once the lease is no longer sure.
 */
export async function performAll(
  leader: Leader,
  live: LiveCall,
  acts: readonly Act[],
): Promise<void> {
  for (const act of acts) {
    if (!mayAct(leader)) return;
    try {
      await perform(leader, live, act);
    } catch (error) {
      const at = { account_id: live.call.account_id, call_id: live.call.id, err: error };
      leader.app.log.warn(at, `the switch did not do it: ${act.do}`);
      live.is_behind = true;
      leader.surveyIn(look_ms);
    }
  }
}

async function perform(leader: Leader, live: LiveCall, act: Act): Promise<void> {
  const { session } = leader;
  const { call } = live;
  const nameOf = (id: number) => legName(call, { id });
  switch (act.do) {
    case "dial":
      return beginDialling(leader, live, act);
    case "hang_up":
      return hangUp(leader, live, act.leg);
    case "ringback":
      return session.ringback(nameOf(act.leg));
    case "stop_ringback":
      return session.stopRingback(nameOf(act.leg));
    case "bridge":
      return session.bridge(callName(call), act.legs.map(nameOf));
    case "record":
      return record(leader, live);
    case "end_bridge":
      return session.endBridge(callName(call));
    case "find_extension":
      return transferTo(leader, live, await findTarget(leader, call, act.digit), act.by);
    case "choose_agents":
      throw new Error("agents are chosen before a step is stored");
    default:
      return performVoice(leader, live, act);
  }
}

function beginDialling(leader: Leader, live: LiveCall, act: Act & { do: "dial" }): void {
  const give_up = new AbortController();
  const done = dial(leader, live, act, give_up.signal)
    .catch((err: unknown) => leader.app.log.error({ err }, "dialling failed"))
    .finally(() => live.dialling.delete(act.leg));
  live.dialling.set(act.leg, { done, give_up });
}

/**
 * Waits for the leg's turn and the switch, no longer than it would ring, and dials; a request that
 * certainly never left is repeated.
 */
async function dial(
  leader: Leader,
  live: LiveCall,
  act: Act & { do: "dial" },
  given_up: AbortSignal,
): Promise<void> {
  const { app, session } = leader;
  const leg = findLeg(live.call, act.leg)!;
  const tell = (ending: Ending) =>
    leader.tell(live, { type: "ended", leg: act.leg, ending, at: app.clock.now() });
  const { to, caller_id, ring_seconds } = act;
  const order: Dial = {
    leg: legName(live.call, leg),
    call: callName(live.call),
    to,
    caller_id,
    ring_seconds,
  };
  const began_ms = performance.now();
  const give_up_at_ms = began_ms + ring_seconds * 1_000;
  // An agent waits for it.
  const first = leg.role === "customer" && live.call.voice === null;
  for (;;) {
    await leader.pace.turn(first);
    if (leg.on_trunk) await leader.trunk_paces.get(live.trunk.id)?.turn(first);
    const ready = Promise.race([leader.connected.promise, aborted(given_up)]);
    await settledWithin(ready, give_up_at_ms - performance.now());
    if (given_up.aborted) return tell(canceled);
    // Whoever waits for the other party does not do so for ever, and its hour may have passed.
    if (!leader.is_connected || performance.now() >= give_up_at_ms) return tell(unreachable);
    if (!mayAct(leader)) return;
    if (leg.role === "customer") {
      // One that is dialled once more was claimed by a leader who died since.
      const waited_ms = leg.id === 1 ? performance.now() - began_ms : Infinity;
      const against = await obstacleOfDial(leader, live, waited_ms);
      if (against && live.call.voice) return withdraw(leader, live, act.leg, against);
      if (against) return tell(canceled);
      if (!mayAct(leader)) return;
    }
    if (leg.role === "customer" && isAgentMissing(live)) {
      await delay(look_ms);
      continue;
    }
    try {
      return await session.dial(order);
    } catch (error) {
      if (!(error instanceof VoiceError)) throw error;
      if (error.failure === "refused") return tell(error.ending ?? unreachable);
      if (error.failure === "unknown") return leader.surveyIn(look_ms);
      if (performance.now() > give_up_at_ms) return tell(unreachable);
      app.log.warn({ err: error }, "the switch was not reached; dialling again");
      await delay(look_ms);
    }
  }
}

function withdraw(leader: Leader, live: LiveCall, leg: number, against: Obstacle): void {
  leader.tell(live, { type: "withdrawn", leg, against, at: leader.app.clock.now() });
}

/** Whoever was to talk to the customer may have left while nobody listened. */
function isAgentMissing({ call, missing }: LiveCall): boolean {
  return liveLegs(call).some(({ role, id }) => role === "agent" && missing.has(id));
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** A leg on its way to the switch is kept back, or hung up once it is there. */
async function hangUp(leader: Leader, live: LiveCall, leg: number): Promise<void> {
  const under_way = live.dialling.get(leg);
  if (!under_way) return leader.session.hangUp(legName(live.call, { id: leg }));
  under_way.give_up.abort();
  void under_way.done
    .then(() => leader.session.hangUp(legName(live.call, { id: leg })))
    .catch(() => leader.surveyIn(look_ms));
}

async function record(leader: Leader, live: LiveCall): Promise<void> {
  try {
    await leader.session.record(callName(live.call), callName(live.call));
  } catch (error) {
    // Otherwise it may go on, or begins late.
    if (error instanceof VoiceError && error.failure === "refused")
      leader.tell(live, { type: "recorded", ok: false, at: leader.app.clock.now() });
    throw error;
  }
}

function findTarget({ app }: Leader, call: Call, digit: string): Promise<Agent | null> {
  return findExtension(app.db.query, call, digit);
}

/** A further leg is a further pulse, reserved before it is dialled; of a transfer that cannot be, nothing is. */
export async function transferTo(
  leader: Leader,
  live: LiveCall,
  to: Agent | null,
  by: TransferredBy,
): Promise<void> {
  const { app, lease } = leader;
  const at = app.clock.now();
  if (!to || !step(live.call, live.line, { type: "transfer", by, to, at })) return;
  if (!(await topUp(app.db.pool, live.call, lease.fence, 1, at))) return;
  live.call = { ...live.call, reserved: live.call.reserved + 1 };
  leader.tell(live, { type: "transfer", by, to, at: app.clock.now() });
}
