// Legs that hear each other, and what plays to a leg that is alone.
import { setTimeout as wait } from "node:timers/promises";
import { ariPath, expectDone, type AriClient } from "./ari-client.ts";
import { idAtSwitch, ringbackId } from "./names.ts";
import { whenHandedOver } from "./when-handed-over.ts";

/** A bridge that is ended is gone once its legs have left it, some milliseconds later. */
const dissolve_ms = 1_000;
const dissolve_step_ms = 10;

/**
 * The legs are in the bridge, beside those that were there; one that is gone is left out. `silence`
 * ends what plays to a leg: Asterisk would let it wait for the end of that. Throws VoiceError.
 */
export async function joinLegs(
  client: AriClient,
  bridge: string,
  legs: readonly string[],
  silence: (leg: string) => Promise<unknown>,
): Promise<void> {
  // Without dtmf_events a bridge keeps the digits to itself.
  const made = await client.call(
    "POST",
    ariPath(["bridges", idAtSwitch(client.app, bridge)], { type: "mixing,dtmf_events" }),
  );
  expectDone("making a bridge", made, [409]);
  const present = made.status === 409 ? await membersOf(client, bridge) : [];
  const absent = legs.filter((leg) => !present.includes(idAtSwitch(client.app, leg)));
  await Promise.all(
    absent.map(async (leg) => {
      await silence(leg);
      await addChannel(client, bridge, idAtSwitch(client.app, leg));
    }),
  );
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

/** The channel, by its id, is in the bridge too; one that is gone is left out. Throws VoiceError. */
export async function addChannel(
  client: AriClient,
  bridge: string,
  channel: string,
): Promise<void> {
  const path = ariPath(["bridges", idAtSwitch(client.app, bridge), "addChannel"], { channel });
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
