// The session of a node leader with an Asterisk.
import type { Log } from "../../../lib/log.ts";
import type { Random } from "../../../lib/random.ts";
import type { VoiceEvent, VoiceNode, VoiceSession } from "../driver.ts";
import {
  ariPath,
  expectSuccess,
  openAriClient,
  type AriClient,
  type AriSettings,
} from "./ari-client.ts";
import { readAriEvent, subscribed_events } from "./ari-events.ts";
import { greeting_limits, greetingName, openGreetings, type Greetings } from "./await-silence.ts";
import { detectAnswerer } from "./detect-answerer.ts";
import { dialLeg } from "./dial-leg.ts";
import { findCdrs } from "./find-cdrs.ts";
import { addChannel, bridgeLegs, endBridge, startRingback, stopRingback } from "./bridge-legs.ts";
import { openAudioFolder } from "./store-audio-file.ts";
import { openLegTracker, type LegTracker } from "./track-legs.ts";
import { idAtSwitch } from "./names.ts";
import { hangUpChannel, openMediaChannels, type MediaChannels } from "./open-media.ts";
import { openAudioPlayer, type AudioPlayer } from "./play-audio.ts";
import { openIncomingCalls, type IncomingCalls } from "./incoming-calls.ts";
import { openRecordings, type Recordings } from "./recordings.ts";
import { openEventStream } from "./open-event-stream.ts";
import { readEpoch, snapshotSwitch, type SwitchState } from "./snapshot-switch.ts";

const normal_clearing = 16;

/** The state of a session, besides its connection. */
type Parts = {
  readonly client: AriClient;
  readonly node: VoiceNode;
  readonly legs: LegTracker;
  readonly player: AudioPlayer;
  readonly recordings: Recordings;
  readonly greetings: Greetings;
  readonly media: MediaChannels;
  readonly incoming: IncomingCalls;
  readonly emit: (event: VoiceEvent) => void;
  /** The known bridge of each leg. */
  readonly bridge_of: Map<string, string>;
  /** The legs on which AMD is running. */
  readonly detecting: Set<string>;
  /** The legs that this session dialed. */
  readonly dialed: Set<string>;
};

type SessionOptions = {
  readonly log: Log;
  readonly request_timeout_ms: number;
  readonly ping_ms: number;
  readonly random: Random;
  readonly maySend: (() => boolean) | undefined;
};

/** See VoiceDriver.open. */
export function openSession(
  node: VoiceNode,
  ari: AriSettings,
  onEvent: (event: VoiceEvent) => void,
  options: SessionOptions,
): VoiceSession {
  const { log } = options;
  let stopped = false;
  const parts = openParts(node, ari, options, (event) => {
    if (!stopped) onEvent(event);
  });
  const { client, legs, player, recordings, media, incoming, emit } = parts;
  const { origin } = new URL(ari.url);
  let epoch: string | null = null;
  const connection = openEventStream(ari, options, {
    prepare: () => prepare(client, ari.app),
    onConnected(started) {
      if (epoch !== null && epoch !== started) clearState(parts);
      epoch = started;
      emit({ type: "connected", epoch: started });
    },
    onDisconnected(seen_at) {
      media.closeAll();
      player.onDisconnected();
      emit({ type: "disconnected", seen_at });
    },
    onUnavailable: (err) => log.warn({ url: origin, err }, "no connection to the switch; retrying"),
    onMessage(text, at) {
      const read = readAriEvent(text);
      const event = read && client.aliases.fromSwitch(read);
      if (event?.type === "ApplicationReplaced") {
        emit({ type: "replaced" });
        stop();
      } else if (event) {
        recordings.onAriEvent(event);
        if (event.type === "PlaybackFinished") player.onFinished(event, at);
        legs.onAriEvent(event, at);
        incoming.onAriEvent(event, at);
      }
    },
  });
  const stop = () => {
    stopped = true;
    media.closeAll();
    recordings.close();
    connection.close();
  };
  return {
    ...callControls(parts),
    ...audioControls(parts),
    async close() {
      stop();
      await client.close();
    },
  };
}

function openParts(
  node: VoiceNode,
  ari: AriSettings,
  { request_timeout_ms, maySend, log }: SessionOptions,
  onEvent: (event: VoiceEvent) => void,
): Parts {
  const client = openAriClient(ari, request_timeout_ms, maySend);
  const bridge_of = new Map<string, string>();
  const detecting = new Set<string>();
  const dialed = new Set<string>();
  const media = openMediaChannels(client, ari, request_timeout_ms);
  const emit = (reported: VoiceEvent) => {
    const event = greetings.readSilence(reported);
    if (event.type === "silent" && !legs.isActive(event.leg)) return;
    if (event.type === "detected") detecting.delete(event.leg);
    if (event.type === "ended") {
      player.remove(event.leg);
      media.closeOf(event.leg);
      recordings.removeOf(event.leg);
      greetings.deleteOf(event.leg);
      bridge_of.delete(event.leg);
      detecting.delete(event.leg);
      dialed.delete(event.leg);
    }
    onEvent(event);
  };
  const legs = openLegTracker(ari.app, emit);
  const audio_files = openAudioFolder(node.sounds_dir);
  const { isActive } = legs;
  const player = openAudioPlayer({ client, audio_files, bridge_of, dialed, isActive, emit });
  const recordings = openRecordings(client, dialed, emit);
  const greetings = openGreetings(client, log);
  const incoming = openIncomingCalls(client, emit);
  const known = { bridge_of, detecting, dialed };
  return { client, node, legs, player, recordings, greetings, media, incoming, ...known, emit };
}

/** Clears the state after a restart of the switch, which ends all legs. */
function clearState({ client, legs, player, bridge_of, detecting, dialed }: Parts): void {
  client.aliases.clear();
  legs.clear();
  player.clear();
  bridge_of.clear();
  detecting.clear();
  dialed.clear();
}

/** Subscribes to the events that are used, and returns the epoch. */
async function prepare(client: AriClient, app: string): Promise<string> {
  const filter = { allowed: subscribed_events.map((type) => ({ type })) };
  const path = ariPath(["applications", app, "eventFilter"]);
  expectSuccess("setting the event filter", await client.call("PUT", path, filter));
  return readEpoch(client);
}

type AudioControls = Pick<
  VoiceSession,
  | "record"
  | "play"
  | "stopPlaying"
  | "detect"
  | "awaitSilence"
  | "recordMessage"
  | "stopMessage"
  | "openMedia"
>;

function callControls(parts: Parts): Omit<VoiceSession, "close" | keyof AudioControls> {
  const { client, legs, node, bridge_of, dialed } = parts;
  return {
    async dial(dial) {
      dialed.add(dial.leg);
      const isNew = await dialLeg(client, dial).catch((error: unknown) => {
        dialed.delete(dial.leg);
        throw error;
      });
      if (!isNew) dialed.delete(dial.leg);
    },
    async hangUp(leg, cause = normal_clearing) {
      legs.hangingUp(leg);
      const path = ariPath(["channels", idAtSwitch(client.app, leg)], {
        reason_code: String(cause),
      });
      expectSuccess("hanging up", await client.call("DELETE", path), [404]);
    },
    ringback: (leg) => startRingback(client, leg),
    stopRingback: (leg) => stopRingback(client, leg),
    bridge: (bridge, members) => addToBridge(parts, bridge, members),
    async endBridge(bridge) {
      await endBridge(client, bridge);
      for (const [leg, at] of bridge_of) if (at === bridge) bridge_of.delete(leg);
    },
    async answer(channel, leg) {
      const result = await parts.incoming.answer(channel, leg);
      if (result === "answered") return legs.answered(leg, new Date());
      if (result === "ended") return;
      const ending = { outcome: "canceled", cause: null, sip_status: null, by: "far_end" } as const;
      parts.emit({ type: "ended", leg, at: new Date(), ending, answered_at: null });
    },
    refuse: parts.incoming.refuse,
    async snapshot() {
      const found = await snapshotSwitch(client, legs.rings);
      legs.onSnapshot(found.legs, new Date());
      await adopt(parts, found);
      const { epoch, legs: live, bridges } = found;
      return { epoch, legs: live, bridges };
    },
    async findCdrs(of) {
      const channelOf = (leg: string) => client.aliases.channelOf(idAtSwitch(client.app, leg));
      const leg_of = new Map(of.map((leg) => [channelOf(leg), leg]));
      const found = await findCdrs(node.cdr_path, [...leg_of.keys()]);
      if (found === "unreadable") return found;
      return new Map([...found].map(([channel, record]) => [leg_of.get(channel)!, record]));
    },
  };
}

function audioControls(parts: Parts): AudioControls {
  const { client, player, recordings, greetings, media, detecting } = parts;
  return {
    record: recordings.record,
    play: player.play,
    stopPlaying: player.stop,
    async detect(leg) {
      if (detecting.has(leg)) return;
      detecting.add(leg);
      try {
        if (!(await detectAnswerer(client, leg))) detecting.delete(leg);
      } catch (error) {
        detecting.delete(leg);
        throw error;
      }
    },
    async awaitSilence(leg) {
      greetings.add(leg);
      await recordings.recordSilently(leg, greetingName(leg), greeting_limits);
    },
    recordMessage: recordings.recordMessage,
    stopMessage: recordings.stopMessage,
    openMedia: (bridge, leg) =>
      media.open(leg, async (channel) => {
        await addToBridge(parts, bridge, [leg]);
        await addChannel(client, bridge, channel);
      }),
  };
}

async function addToBridge(
  { client, legs: tracker, player, recordings, bridge_of, dialed }: Parts,
  bridge: string,
  legs: readonly string[],
): Promise<void> {
  await bridgeLegs(client, bridge, legs, (leg) =>
    Promise.all([
      stopRingback(client, leg),
      player.stop(leg),
      recordings.stopOf(leg, dialed.has(leg) ? [] : [greetingName(leg)]),
    ]),
  );
  for (const leg of legs) if (tracker.isActive(leg)) bridge_of.set(leg, bridge);
}

/** Adopts the bridges and waiting calls of earlier sessions, and hangs up their external media channels. */
async function adopt(parts: Parts, found: SwitchState): Promise<void> {
  const { client, media, bridge_of, greetings, incoming } = parts;
  incoming.onSnapshot(found.channels, new Date());
  greetings.onSnapshot(found.legs);
  for (const [leg, bridge] of found.bridge_of) {
    if (!bridge_of.has(leg)) bridge_of.set(leg, bridge);
  }
  for (const channel of found.media) {
    if (!media.isOpen(channel)) await hangUpChannel(client, channel);
  }
}
