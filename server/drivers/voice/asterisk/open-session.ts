// The one connection of an Asterisk's leader.
import type { Log } from "../../../lib/log.ts";
import { VoiceError, type VoiceEvent, type VoiceNode, type VoiceSession } from "../driver.ts";
import {
  ariPath,
  expectDone,
  openAriClient,
  type AriClient,
  type AriSettings,
} from "./ari-client.ts";
import { readAriEvent, wanted_events, type AriEvent } from "./ari-events.ts";
import { dialLeg } from "./dial-leg.ts";
import { findRecord } from "./find-record.ts";
import { endBridge, joinLegs, startRingback, stopRingback } from "./join-legs.ts";
import { openLegNews, type LegNews } from "./leg-news.ts";
import { idAtSwitch, ownName } from "./names.ts";
import { stayConnected } from "./stay-connected.ts";
import { readEpoch, surveySwitch } from "./survey-switch.ts";

const normal_clearing = 16;
/** Asterisk tells the end of a recording twice; so many are remembered as told. */
const recordings_told_max = 1_000;

/** See VoiceDriver.open. */
export function openSession(
  node: VoiceNode,
  ari: AriSettings,
  hear: (event: VoiceEvent) => void,
  log: Log,
  limits: { readonly request_timeout_ms: number; readonly ping_ms: number },
): VoiceSession {
  const client = openAriClient(ari, limits.request_timeout_ms);
  let silent = false;
  const tell = (event: VoiceEvent) => {
    if (!silent) hear(event);
  };
  const legs = openLegNews(ari.app, tell);
  const hearRecording = openRecordingNews(ari.app, tell);
  const { origin } = new URL(ari.url);
  let epoch: string | null = null;
  const connection = stayConnected(ari, limits.ping_ms, {
    prepare: () => prepare(client, ari.app),
    connected(started) {
      if (epoch !== null && epoch !== started) legs.forgetAll();
      epoch = started;
      tell({ type: "connected", epoch: started });
    },
    disconnected: () => tell({ type: "disconnected" }),
    waiting: (err) => log.warn({ url: origin, err }, "no connection to the switch; trying again"),
    hear(text, at) {
      const event = readAriEvent(text);
      if (event?.type === "ApplicationReplaced") {
        tell({ type: "replaced" });
        silence();
      } else if (event) {
        hearRecording(event);
        legs.hear(event, at);
      }
    },
  });
  const silence = () => {
    silent = true;
    connection.close();
  };
  return {
    ...controls(client, legs, node),
    async close() {
      silence();
      await client.close();
    },
  };
}

/** The connection tells only what is used, and is known to be this Asterisk's. */
async function prepare(client: AriClient, app: string): Promise<string> {
  const filter = { allowed: wanted_events.map((type) => ({ type })) };
  const path = ariPath(["applications", app, "eventFilter"]);
  expectDone("choosing the events", await client.call("PUT", path, filter));
  return readEpoch(client);
}

function controls(client: AriClient, legs: LegNews, node: VoiceNode): Omit<VoiceSession, "close"> {
  return {
    dial: (dial) => dialLeg(client, dial),
    async hangUp(leg, cause = normal_clearing) {
      legs.hangingUp(leg);
      const path = ariPath(["channels", idAtSwitch(client.app, leg)], {
        reason_code: String(cause),
      });
      expectDone("hanging up", await client.call("DELETE", path), [404]);
    },
    ringback: (leg) => startRingback(client, leg),
    stopRingback: (leg) => stopRingback(client, leg),
    bridge: (bridge, members) => joinLegs(client, bridge, members),
    endBridge: (bridge) => endBridge(client, bridge),
    async record(bridge, recording) {
      const query = { name: idAtSwitch(client.app, recording), format: "wav", ifExists: "fail" };
      const answer = await client.call(
        "POST",
        ariPath(["bridges", idAtSwitch(client.app, bridge), "record"], query),
      );
      // 409: it records already. 404: the bridge is gone.
      expectDone("recording", answer, [404, 409]);
    },
    play: notYet,
    stopPlaying: notYet,
    detect: notYet,
    recordMessage: notYet,
    stopMessage: notYet,
    openMedia: notYet,
    async survey() {
      const found = await surveySwitch(client, legs.rings);
      legs.surveyed(found.legs);
      return found;
    },
    findRecord: (leg) => findRecord(node.cdr_path, idAtSwitch(client.app, leg)),
  };
}

async function notYet(): Promise<never> {
  throw new VoiceError("refused", "this switch does not do that");
}

function openRecordingNews(
  app: string,
  tell: (event: VoiceEvent) => void,
): (event: AriEvent) => void {
  const told = new Set<string>();
  return (event) => {
    if (event.type !== "RecordingFinished" && event.type !== "RecordingFailed") return;
    const name = ownName(app, event.recording.name);
    if (name === null || told.has(name)) return;
    told.add(name);
    if (told.size > recordings_told_max) told.delete(told.values().next().value!);
    tell({ type: "recorded", recording: name, ok: event.type === "RecordingFinished" });
  };
}
