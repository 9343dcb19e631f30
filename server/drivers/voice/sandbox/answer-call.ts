// Answers simulated incoming calls.
import type { VoiceEvent } from "../driver.ts";
import { behaviorOf } from "./leg-behavior.ts";
import { addLeg, answer, soon_ms, type SandboxSwitch } from "./sandbox-switch.ts";

/** A number whose phone answers and presses 1. */
const presses_1 = "777701";

/** See VoiceSession.answer. The caller behaves as when called, and presses 1 if the phone would not be answered then. */
export function answerCall(at: SandboxSwitch, channel: string, name: string): void {
  const call = at.incoming.get(channel);
  if (!call) {
    // Also a repeated request, which has no effect on a live leg.
    if (!at.legs.has(name)) at.emit?.(goneBefore(name, at.now()));
    return;
  }
  at.incoming.delete(channel);
  const number = behaviorOf(call.from, "customer").kind === "answers" ? call.from : presses_1;
  const behavior = behaviorOf(number, "customer");
  const leg = addLeg(at, { name, call: name.replace(/-\d+$/, ""), number }, behavior);
  leg.state = "ringing";
  leg.on_end.add(() => at.over.get(channel)?.());
  if (behavior.kind === "answers")
    leg.timers.push(at.after(soon_ms, () => answer(at, leg, behavior)));
}

/** The end of a call whose caller hung up before it was answered. */
function goneBefore(leg: string, at: Date): VoiceEvent {
  const ending = { outcome: "canceled", cause: null, sip_status: null, by: "far_end" } as const;
  return { type: "ended", leg, at, ending, answered_at: null };
}
