// Bridges between legs, and the ringback tone of a leg that waits.
import { setTimeout as wait } from "node:timers/promises";
import { ariPath, expectSuccess, type AriClient } from "./ari-client.ts";
import { idAtSwitch, ringbackId } from "./names.ts";
import { retryUntilInStasis } from "./retry-until-in-stasis.ts";

/** Asterisk removes a destroyed bridge some milliseconds later, once its channels are out of it. */
const destroy_ms = 1_000;
const destroy_poll_ms = 10;

/**
 * Adds the legs to the bridge and creates it if necessary; skips legs that have ended. `stopAudio` stops
 * what plays to a leg, because Asterisk would delay the bridging until its end, and what is recorded of it,
 * because Asterisk would refuse the bridging. Throws VoiceError.
 */
export async function bridgeLegs(
  client: AriClient,
  bridge: string,
  legs: readonly string[],
  stopAudio: (leg: string) => Promise<unknown>,
): Promise<void> {
  // Without dtmf_events, a bridge does not report digits.
  const created = await client.call(
    "POST",
    ariPath(["bridges", idAtSwitch(client.app, bridge)], { type: "mixing,dtmf_events" }),
  );
  expectSuccess("creating a bridge", created, [409]);
  const present = created.status === 409 ? await membersOf(client, bridge) : [];
  const absent = legs.filter((leg) => !present.includes(idAtSwitch(client.app, leg)));
  await Promise.all(
    absent.map(async (leg) => {
      await stopAudio(leg);
      await addChannel(client, bridge, idAtSwitch(client.app, leg));
    }),
  );
}

/** Destroys the bridge and waits up to 1 s until it is removed. Throws VoiceError. */
export async function endBridge(client: AriClient, bridge: string): Promise<void> {
  const path = ariPath(["bridges", idAtSwitch(client.app, bridge)]);
  let response = expectSuccess("destroying a bridge", await client.call("DELETE", path), [404]);
  const deadline = performance.now() + destroy_ms;
  while (response.status !== 404 && performance.now() < deadline) {
    await wait(destroy_poll_ms);
    response = expectSuccess("reading a bridge", await client.call("GET", path), [404]);
  }
}

async function membersOf(client: AriClient, bridge: string): Promise<readonly unknown[]> {
  const response = await client.call("GET", ariPath(["bridges", idAtSwitch(client.app, bridge)]));
  const { channels } = (expectSuccess("reading a bridge", response, [404]).body ?? {}) as {
    channels?: unknown;
  };
  if (!Array.isArray(channels)) return [];
  return channels.map((id: unknown) => client.aliases.ownId(String(id)));
}

/** Adds a channel to the bridge by its ID; does nothing when the channel has ended. Throws VoiceError. */
export async function addChannel(
  client: AriClient,
  bridge: string,
  channel: string,
): Promise<void> {
  const path = ariPath(["bridges", idAtSwitch(client.app, bridge), "addChannel"], { channel });
  const response = await retryUntilInStasis(() => client.call("POST", path), [409, 422]);
  // 400: the channel does not exist.
  expectSuccess("adding a channel to a bridge", response, [400]);
}

/** Plays ringback until it is stopped. Does nothing if it plays already: a second one could not be stopped. */
export async function startRingback(client: AriClient, leg: string): Promise<void> {
  const playback = ringbackId(client.app, leg);
  const playing = await client.call("GET", ariPath(["playbacks", playback]));
  if (expectSuccess("reading the ringback", playing, [404]).status !== 404) return;
  const path = ariPath(["channels", idAtSwitch(client.app, leg), "play", playback], {
    media: "tone:ring;tonezone=in",
  });
  expectSuccess(
    "starting the ringback",
    await retryUntilInStasis(() => client.call("POST", path), [409]),
    [404],
  );
}

/** Stops the ringback; does nothing when none plays. Throws VoiceError. */
export async function stopRingback(client: AriClient, leg: string): Promise<void> {
  const path = ariPath(["playbacks", ringbackId(client.app, leg)]);
  expectSuccess("stopping the ringback", await client.call("DELETE", path), [404, 409]);
}
