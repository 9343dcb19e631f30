// The one connection of an Asterisk's leader.
import type { Log } from "../../../lib/log.ts";
import type { Random } from "../../../lib/random.ts";
import type { VoiceEvent, VoiceNode, VoiceSession } from "../driver.ts";
import {
  ariPath,
  expectDone,
  openAriClient,
  type AriClient,
  type AriSettings,
} from "./ari-client.ts";
import { readAriEvent, wanted_events } from "./ari-events.ts";
import { detectAnswerer } from "./detect-answerer.ts";
import { dialLeg } from "./dial-leg.ts";
import { findRecord } from "./find-record.ts";
import { addChannel, endBridge, joinLegs, startRingback, stopRingback } from "./join-legs.ts";
import { openAudioFolder } from "./keep-clip.ts";
import { openLegNews, type LegNews } from "./leg-news.ts";
import { idAtSwitch } from "./names.ts";
import { hangUpChannel, openMediaChannels, type MediaChannels } from "./open-media.ts";
import { openPlaying, type Playing } from "./play-clips.ts";
import { openRecordings, type Recordings } from "./recordings.ts";
import { stayConnected } from "./stay-connected.ts";
import { readEpoch, surveySwitch, type Seen } from "./survey-switch.ts";

const normal_clearing = 16;

/** What a session knows and steers, beside the connection itself. */
type Parts = {
  readonly client: AriClient;
  readonly node: VoiceNode;
  readonly legs: LegNews;
  readonly playing: Playing;
  readonly recordings: Recordings;
  readonly media: MediaChannels;
  /** The bridge of each leg, as far as it is known. */
  readonly bridge_of: Map<string, string>;
  /** The legs of which it is just being found out who answered. */
  readonly detecting: Set<string>;
  /** The legs that this session dialled. */
  readonly dialled: Set<string>;
};

type SessionOptions = {
  readonly log: Log;
  readonly request_timeout_ms: number;
  readonly ping_ms: number;
  readonly random: Random;
  readonly mayAct: (() => boolean) | undefined;
};

/** See VoiceDriver.open. */
export function openSession(
  node: VoiceNode,
  ari: AriSettings,
  hear: (event: VoiceEvent) => void,
  options: SessionOptions,
): VoiceSession {
  const { log, request_timeout_ms, mayAct } = options;
  let silent = false;
  const parts = openParts(node, ari, { request_timeout_ms, mayAct }, (event) => {
    if (!silent) hear(event);
  });
  const { client, legs, playing, recordings, media, tell } = parts;
  const { origin } = new URL(ari.url);
  let epoch: string | null = null;
  const connection = stayConnected(ari, options, {
    prepare: () => prepare(client, ari.app),
    connected(started) {
      if (epoch !== null && epoch !== started) forgetAll(parts);
      epoch = started;
      tell({ type: "connected", epoch: started });
    },
    disconnected() {
      media.closeAll();
      playing.lost();
      tell({ type: "disconnected" });
    },
    waiting: (err) => log.warn({ url: origin, err }, "no connection to the switch; trying again"),
    hear(text, at) {
      const event = readAriEvent(text);
      if (event?.type === "ApplicationReplaced") {
        tell({ type: "replaced" });
        silence();
      } else if (event) {
        recordings.hear(event);
        if (event.type === "PlaybackFinished") playing.hear(event, at);
        legs.hear(event, at);
      }
    },
  });
  const silence = () => {
    silent = true;
    media.closeAll();
    recordings.close();
    connection.close();
  };
  return {
    ...controls(parts),
    ...soundControls(parts),
    async close() {
      silence();
      await client.close();
    },
  };
}

function openParts(
  node: VoiceNode,
  ari: AriSettings,
  { request_timeout_ms, mayAct }: Pick<SessionOptions, "request_timeout_ms" | "mayAct">,
  hear: (event: VoiceEvent) => void,
): Parts & { readonly tell: (event: VoiceEvent) => void } {
  const client = openAriClient(ari, request_timeout_ms, mayAct);
  const bridge_of = new Map<string, string>();
  const detecting = new Set<string>();
  const dialled = new Set<string>();
  const media = openMediaChannels(client, ari, request_timeout_ms);
  const tell = (event: VoiceEvent) => {
    if (event.type === "detected") detecting.delete(event.leg);
    if (event.type === "ended") {
      playing.forget(event.leg);
      media.closeOf(event.leg);
      bridge_of.delete(event.leg);
      detecting.delete(event.leg);
      dialled.delete(event.leg);
    }
    hear(event);
  };
  const legs = openLegNews(ari.app, tell);
  const audio_files = openAudioFolder(node.sounds_dir);
  const playing = openPlaying({ client, audio_files, bridge_of, dialled, stays: legs.stays, tell });
  const recordings = openRecordings(client, tell);
  return { client, node, legs, playing, recordings, media, bridge_of, detecting, dialled, tell };
}

/** Nothing lived through the switch's restart. */
function forgetAll({ legs, playing, bridge_of, detecting, dialled }: Parts): void {
  legs.forgetAll();
  playing.forgetAll();
  bridge_of.clear();
  detecting.clear();
  dialled.clear();
}

/** The connection tells only what is used, and is known to be this Asterisk's. */
async function prepare(client: AriClient, app: string): Promise<string> {
  const filter = { allowed: wanted_events.map((type) => ({ type })) };
  const path = ariPath(["applications", app, "eventFilter"]);
  expectDone("choosing the events", await client.call("PUT", path, filter));
  return readEpoch(client);
}

type SoundControls = Pick<
  VoiceSession,
  "record" | "play" | "stopPlaying" | "detect" | "recordMessage" | "stopMessage" | "openMedia"
>;

function controls(parts: Parts): Omit<VoiceSession, "close" | keyof SoundControls> {
  const { client, legs, node, bridge_of, dialled } = parts;
  return {
    async dial(dial) {
      dialled.add(dial.leg);
      const isOurs = await dialLeg(client, dial).catch((error: unknown) => {
        dialled.delete(dial.leg);
        throw error;
      });
      if (!isOurs) dialled.delete(dial.leg);
    },
    async hangUp(leg, cause = normal_clearing) {
      legs.hangingUp(leg);
      const path = ariPath(["channels", idAtSwitch(client.app, leg)], {
        reason_code: String(cause),
      });
      expectDone("hanging up", await client.call("DELETE", path), [404]);
    },
    ringback: (leg) => startRingback(client, leg),
    stopRingback: (leg) => stopRingback(client, leg),
    bridge: (bridge, members) => join(parts, bridge, members),
    async endBridge(bridge) {
      await endBridge(client, bridge);
      for (const [leg, at] of bridge_of) if (at === bridge) bridge_of.delete(leg);
    },
    async survey() {
      const seen = await surveySwitch(client, legs.rings);
      legs.surveyed(seen.legs, new Date());
      await settle(parts, seen);
      const { epoch, legs: live, bridges } = seen;
      return { epoch, legs: live, bridges };
    },
    findRecord: (leg) => findRecord(node.cdr_path, idAtSwitch(client.app, leg)),
  };
}

function soundControls(parts: Parts): SoundControls {
  const { client, playing, recordings, media, detecting } = parts;
  return {
    record: recordings.record,
    play: playing.play,
    stopPlaying: playing.stop,
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
    recordMessage: recordings.recordMessage,
    stopMessage: recordings.stopMessage,
    openMedia: (bridge, leg) =>
      media.open(leg, async (channel) => {
        await join(parts, bridge, [leg]);
        await addChannel(client, bridge, channel);
      }),
  };
}

async function join(
  { client, legs: news, playing, bridge_of }: Parts,
  bridge: string,
  legs: readonly string[],
): Promise<void> {
  await joinLegs(client, bridge, legs, (leg) =>
    Promise.all([stopRingback(client, leg), playing.stop(leg)]),
  );
  for (const leg of legs) if (news.stays(leg)) bridge_of.set(leg, bridge);
}

/** What the switch shows and this session did not do: an earlier one's bridges and, of its media, what it left. */
async function settle({ client, media, bridge_of }: Parts, seen: Seen): Promise<void> {
  for (const [leg, bridge] of seen.bridge_of) {
    if (!bridge_of.has(leg)) bridge_of.set(leg, bridge);
  }
  for (const channel of seen.media) {
    if (!media.isOpen(channel)) await hangUpChannel(client, channel);
  }
}
