// One thing that happened to a call: what follows is stored, then done.
import { setTimeout as delay } from "node:timers/promises";
import { isLeaseLost } from "../../engine/leases.ts";
import { findVoiceNode } from "../../telephony/nodes/find-voice-node.ts";
import { callName, type Call } from "../state-machine/call.ts";
import { liveLegs } from "../state-machine/legs.ts";
import type { Act, CallEvent, Step } from "../state-machine/events-and-acts.ts";
import type { TransferTarget } from "../state-machine/menu.ts";
import { resume } from "../state-machine/resume.ts";
import { isSought } from "../state-machine/step-voice.ts";
import { step } from "../state-machine/step.ts";
import { writeStep } from "../state-machine/write-step.ts";
import { holdCampaign } from "./breaker.ts";
import { chooseAgents, chooseForCaller } from "./choose-agents.ts";
import { announce, followUp, needsAnnouncement, needsFollowUp } from "./follow-up.ts";
import type { Leader, LiveCall } from "./leader.ts";
import { obstacleOfCustomer } from "./obstacles.ts";
import { topUp } from "./leader-statements.ts";
import { performAll } from "./perform.ts";
import { watchCredit } from "./watch-credit.ts";

const retry_ms = 200;

/**
 * Takes the call one event further. What the switch is to do is begun only after it is stored. A
 * call that is another leader's by now is let go; while the database is away the step waits for it.
 */
export async function takeTurn(leader: Leader, live: LiveCall, event: CallEvent): Promise<void> {
  const name = callName(live.call);
  if (leader.calls.get(name) !== live) return;
  try {
    const next = await decide(leader, live, event);
    if (!next) return;
    // Credit may have been topped up meanwhile.
    live.call = { ...next.call, steps: live.call.steps + 1, reserved: live.call.reserved };
    if (live.call.stage === "ended") forget(leader, live);
    await performAll(leader, live, next.acts);
    watchCredit(leader, live);
    watchRecording(leader, live);
  } catch (error) {
    if (!isLeaseLost(error)) throw error;
    forget(leader, live);
  }
}

/** Does again what a call needs of the switch: after a connection, or of a call that was taken over. */
export function resumeCall(leader: Leader, live: LiveCall): void {
  live.turns = live.turns.then(() => resumeNow(leader, live));
}

async function resumeNow(leader: Leader, live: LiveCall): Promise<void> {
  if (leader.calls.get(callName(live.call)) !== live) return;
  live.is_behind = false;
  await performAll(leader, live, resume(live.call));
  watchCredit(leader, live);
  watchRecording(leader, live);
}

/** The step that follows, once it is stored; null when nothing does. */
async function decide(leader: Leader, live: LiveCall, event: CallEvent): Promise<Step | null> {
  if (event.type === "seek") return putThrough(leader, live, event.to);
  const next = step(live.call, live.line, await validated(leader, live, event));
  if (!next) return null;
  const asked = next.acts.find((act) => act.do === "choose_agents");
  if (!asked) return store(leader, live, next);
  return leader.chooseInTurn(next.call, async () =>
    store(leader, live, await withAgents(leader, live, next, asked)),
  );
}

/** Finds who is to be rung for the caller, and reserves the leg's first pulse. */
async function putThrough(
  leader: Leader,
  live: LiveCall,
  to: TransferTarget,
): Promise<Step | null> {
  const { app, driver, lease } = leader;
  const work = async () => {
    if (!isSought(live.call)) return null;
    const agent = await untilDone(leader, () =>
      chooseForCaller(app.db.query, live.call, to, live.trunk, driver),
    );
    const isPaid =
      agent !== null &&
      (await untilDone(leader, () =>
        topUp(app.db.pool, live.call, lease.fence, 1, app.clock.now()),
      ));
    if (isPaid) live.call = { ...live.call, reserved: live.call.reserved + 1 };
    const found = { type: "agent_found", to: isPaid ? agent : null, at: app.clock.now() } as const;
    const next = step(live.call, live.line, found);
    return next && store(leader, live, next);
  };
  return leader.chooseInTurn(live.call, work, "agent_group_id" in to);
}

/** An agent's answer has the customer called: only if nothing stands against it by now. */
async function validated(leader: Leader, live: LiveCall, event: CallEvent): Promise<CallEvent> {
  const isAgents = event.type === "answered" && live.call.stage === "agent";
  if (!isAgents) return event;
  const against = await untilDone(leader, () => obstacleOfCustomer(leader, live));
  return { ...event, against };
}

/** Who is to be rung is found before anything is stored, so that a call is placed in one write. */
async function withAgents(
  leader: Leader,
  live: LiveCall,
  next: Step,
  asked: Act & { do: "choose_agents" },
): Promise<Step> {
  const { app, driver } = leader;
  const agents = await untilDone(leader, () =>
    chooseAgents(app.db.query, next.call, live.trunk, driver, asked.again),
  );
  const rung = step(next.call, live.line, { type: "agents", agents, at: app.clock.now() });
  const acts = next.acts.filter((act) => act !== asked);
  if (!rung) return { ...next, acts };
  return { call: rung.call, news: [...next.news, ...rung.news], acts: [...acts, ...rung.acts] };
}

async function store(leader: Leader, live: LiveCall, next: Step): Promise<Step> {
  const { app, lease } = leader;
  const before = live.call;
  const now = app.clock.now();
  const announces = needsAnnouncement(before, next.call);
  const follows = needsFollowUp(before, next.call);
  const isSmall = next.call.stage !== "ended" && next.notes === undefined;
  await untilDone(leader, async () => {
    if (!announces && !follows)
      return isSmall
        ? leader.writeTogether({ before, next })
        : writeStep(app.db.pool, lease.fence, before, next, now);
    return app.db.query.transaction().execute(async (tx) => {
      if (!(await writeStep(tx, lease.fence, before, next, now))) return false;
      if (announces) await announce(tx, next.call, now);
      if (follows) await followUp(tx, before, next.call, now);
      return true;
    });
  });
  if (next.call.stage === "ended" && next.call.voice) await watchFailures(leader, next.call);
  return next;
}

/** The campaign is paused once too many of its calls fail. */
async function watchFailures(leader: Leader, call: Call): Promise<void> {
  const { app, breaker } = leader;
  const detail = breaker.note(call);
  if (detail === null) return;
  await untilDone(leader, () => holdCampaign(app.db.pool, call, detail, app.clock.now()));
}

/** Tries until the database answers; throws what is no matter of its being away, and when the lease is lost. */
async function untilDone<Answer>(
  { app, lease }: Leader,
  work: () => Promise<Answer>,
): Promise<Answer> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (isLeaseLost(error) || lease.lost.aborted) throw error;
      app.log.warn({ err: error }, "a step of a call was not stored; trying again");
      await delay(retry_ms);
    }
  }
}

/** Takes the call out of the leader's hands. */
export function forget(leader: Leader, live: LiveCall): void {
  leader.calls.delete(callName(live.call));
  if (live.credit_timer) clearTimeout(live.credit_timer);
  if (live.ending_timer) clearTimeout(live.ending_timer);
  if (live.wait_timer) clearTimeout(live.wait_timer);
  live.credit_timer = live.ending_timer = live.wait_timer = null;
  live.conversation?.end();
  live.conversation = null;
  for (const { give_up } of live.dialling.values()) give_up.abort();
  leader.wake();
}

/** A call that is over but for its recording does not wait for it for ever: its end may have been missed. */
function watchRecording(leader: Leader, live: LiveCall): void {
  const { call } = live;
  const isWaiting =
    call.stage === "ending" && call.recording_state === "recording" && liveLegs(call).length === 0;
  if (!isWaiting || live.ending_timer) return;
  live.ending_timer = setTimeout(() => {
    void isRecorded(leader, call).then((ok) =>
      leader.tell(live, { type: "recorded", ok, at: leader.app.clock.now() }),
    );
  }, leader.times.recording_ms);
}

/** Whether the switch has the whole of it: where it was lost under a leg, the file has no end. */
async function isRecorded({ app, driver, node_id }: Leader, call: Call): Promise<boolean> {
  if (call.legs.some(({ outcome }) => outcome === "lost")) return false;
  try {
    const node = await findVoiceNode(app.db.query, node_id);
    const file = await app.voiceDrivers[driver]!.readRecording(node, callName(call));
    // Cut short, it fails.
    file?.once("error", () => {}).destroy();
    return file !== null;
  } catch (err) {
    app.log.warn({ err }, "a recording could not be looked for");
    return false;
  }
}
