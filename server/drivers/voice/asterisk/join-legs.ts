// Legs that hear each other, and what plays to a leg that is alone.
import { setTimeout as wait } from "node:timers/promises";
import { ariPath, expectDone, type AriAnswer, type AriClient } from "./ari-client.ts";
import { idAtSwitch, ringbackId } from "./names.ts";

/** A leg that was answered while nobody listened is handed over within half a second. */
const hand_over_ms = 2_000;
const hand_over_step_ms = 100;
/** A bridge that is ended is gone once its legs have left it, some milliseconds later. */
const dissolve_ms = 1_000;
const dissolve_step_ms = 10;

/**
 * The legs are in the bridge, beside those that were there; one that is gone is left out. Throws
 * VoiceError.
 */
export async function joinLegs(
  client: AriClient,
  bridge: string,
  legs: readonly string[],
): Promise<void> {
  // Without dtmf_events a bridge keeps the digits to itself.
  const made = await client.call(
    "POST",
    ariPath(["bridges", idAtSwitch(client.app, bridge)], { type: "mixing,dtmf_events" }),
  );
  expectDone("making a bridge", made, [409]);
  const present = made.status === 409 ? await membersOf(client, bridge) : [];
  const absent = legs.filter((leg) => !present.includes(idAtSwitch(client.app, leg)));
  await Promise.all(absent.map((leg) => addLeg(client, bridge, leg)));
}

/** Gone, or as good as: its legs are leaving it. Throws VoiceError. */
export async function endBridge(client: AriClient, bridge: string): Promise<void> {
  const path = ariPath(["bridges", idAtSwitch(client.app, bridge)]);
  let answer = expectDone("ending a bridge", await client.call("DELETE", path), [404]);
  const deadline = performance.now() + dissolve_ms;
  while (answer.status !== 404 && performance.now() < deadline) {
    await wait(dissolve_step_ms);
    answer = expectDone("reading a bridge", await client.call("GET", path), [404]);
  }
}

async function membersOf(client: AriClient, bridge: string): Promise<readonly unknown[]> {
  const answer = await client.call("GET", ariPath(["bridges", idAtSwitch(client.app, bridge)]));
  const { channels } = (expectDone("reading a bridge", answer, [404]).body ?? {}) as {
    channels?: unknown;
  };
  return Array.isArray(channels) ? (channels as unknown[]) : [];
}

/** Asterisk would let the leg wait for the end of what plays to it, which is never. */
async function addLeg(client: AriClient, bridge: string, leg: string): Promise<void> {
  await stopRingback(client, leg);
  const path = ariPath(["bridges", idAtSwitch(client.app, bridge), "addChannel"], {
    channel: idAtSwitch(client.app, leg),
  });
  const answer = await whenHandedOver(() => client.call("POST", path), [409, 422]);
  // 400: no such channel.
  expectDone("joining a leg", answer, [400]);
}

/** The leg hears ringing until it is stopped. A second one beside it could not be stopped. */
export async function startRingback(client: AriClient, leg: string): Promise<void> {
  const playback = ringbackId(client.app, leg);
  const playing = await client.call("GET", ariPath(["playbacks", playback]));
  if (expectDone("looking for the ringback", playing, [404]).status !== 404) return;
  const path = ariPath(["channels", idAtSwitch(client.app, leg), "play", playback], {
    media: "tone:ring;tonezone=in",
  });
  expectDone("ringback", await whenHandedOver(() => client.call("POST", path), [409]), [404]);
}

export async function stopRingback(client: AriClient, leg: string): Promise<void> {
  const path = ariPath(["playbacks", ringbackId(client.app, leg)]);
  expectDone("ending the ringback", await client.call("DELETE", path), [404, 409]);
}

/** Asks again while the answer is one of `not_yet`: the leg still waits in the dialplan. */
async function whenHandedOver(
  ask: () => Promise<AriAnswer>,
  not_yet: readonly number[],
): Promise<AriAnswer> {
  const deadline = performance.now() + hand_over_ms;
  for (;;) {
    const answer = await ask();
    if (!not_yet.includes(answer.status) || performance.now() > deadline) return answer;
    await wait(hand_over_step_ms);
  }
}
