// What is played to legs: one clip after the other, each told of once.
import type { Audio } from "../../../lib/audio/audio.ts";
import type { VoiceEvent } from "../driver.ts";
import { ariPath, expectDone, type AriAnswer, type AriClient } from "./ari-client.ts";
import type { AriEvent } from "./ari-events.ts";
import type { AudioFolder } from "./keep-clip.ts";
import { idAtSwitch, ownName } from "./names.ts";
import { whenHandedOver } from "./when-handed-over.ts";

export type Playing = {
  /** See VoiceSession.play. */
  play(leg: string, playback: string, audio: Audio): Promise<void>;
  /** See VoiceSession.stopPlaying. */
  stop(leg: string): Promise<void>;
  hear(event: AriEvent & { type: "PlaybackFinished" }, at: Date): void;
  /** The connection is lost: the end of what is being played may be missed. */
  lost(): void;
  /** Nothing is told of the leg any more. */
  forget(leg: string): void;
  forgetAll(): void;
};

export type PlayingParts = {
  readonly client: AriClient;
  readonly audio_files: AudioFolder;
  /** The bridge of each leg, as far as it is known. */
  readonly bridge_of: Map<string, string>;
  /** Legs of this session: nobody before it played them anything. */
  readonly dialled: ReadonlySet<string>;
  /** Whether the leg lives, and nobody is about to hang up. */
  readonly stays: (leg: string) => boolean;
  readonly tell: (event: VoiceEvent) => void;
};

type PlayingLeg = {
  /** The next is asked for once the one before was. */
  turn: Promise<unknown>;
  /** Asked for and not told of, in order. */
  readonly open: Set<string>;
  /** Whatever was ever asked for; `doubtful`: nobody knows whether the switch has it. */
  readonly asked: Map<string, "taken" | "doubtful">;
  stops: number;
};

type State = PlayingParts & {
  readonly legs: Map<string, PlayingLeg>;
  /** By playback: what plays to a bridge is told of its leg. */
  readonly leg_of: Map<string, string>;
  /** Of the connection. */
  losses: number;
};

export function openPlaying(parts: PlayingParts): Playing {
  const state: State = { ...parts, legs: new Map(), leg_of: new Map(), losses: 0 };
  return {
    play(leg, playback, audio) {
      const playing = playingOf(state, leg);
      const done = playing.turn.then(() => begin(state, leg, playing, playback, audio));
      playing.turn = done.catch(() => {});
      return done;
    },
    async stop(leg) {
      const playing = state.legs.get(leg);
      if (playing === undefined) return;
      playing.stops += 1;
      await silence(parts.client, playing);
      // One was perhaps just being asked for.
      await playing.turn;
      await silence(parts.client, playing);
    },
    hear: ({ playback }, at) => hearFinished(state, playback, at),
    lost() {
      state.losses += 1;
      for (const { open, asked } of state.legs.values())
        for (const playback of open) asked.set(playback, "doubtful");
    },
    forget: (leg) => forget(state, leg),
    forgetAll() {
      for (const leg of state.legs.keys()) forget(state, leg);
    },
  };
}

function playingOf({ legs }: State, leg: string): PlayingLeg {
  const known = legs.get(leg);
  if (known) return known;
  const playing = { turn: Promise.resolve(), open: new Set<string>(), asked: new Map(), stops: 0 };
  legs.set(leg, playing);
  return playing;
}

async function begin(
  state: State,
  leg: string,
  playing: PlayingLeg,
  playback: string,
  audio: Audio,
): Promise<void> {
  const { stops } = playing;
  if (playing.asked.get(playback) === "taken") return;
  const path = await state.audio_files.keep(audio);
  if (state.legs.get(leg) !== playing) return;
  const isDoubtful = playing.asked.has(playback) || !state.dialled.has(leg);
  playing.asked.set(playback, "doubtful");
  playing.open.add(playback);
  state.leg_of.set(playback, leg);
  if (isDoubtful && (await isTaken(state.client, playback))) {
    playing.asked.set(playback, "taken");
    return;
  }
  // Its end, or that of the leg, may have been told meanwhile.
  if (playing.asked.get(playback) === "taken" || state.legs.get(leg) !== playing) return;
  if (playing.stops > stops) {
    finish(state, leg, playback, true, new Date());
    return;
  }
  const { losses } = state;
  const answer = await askToPlay(state, leg, playback, path);
  if (answer.status === 404) forget(state, leg);
  else if (state.losses === losses) playing.asked.set(playback, "taken");
}

async function isTaken(client: AriClient, playback: string): Promise<boolean> {
  const path = ariPath(["playbacks", idAtSwitch(client.app, playback)]);
  return expectDone("looking for a playback", await client.call("GET", path), [404]).status !== 404;
}

/** Played to a bridge, all in it hear it; to a leg, the leg alone. 404: the leg is gone. */
async function askToPlay(
  { client, bridge_of }: State,
  leg: string,
  playback: string,
  path: string,
): Promise<AriAnswer> {
  const rest = ["play", idAtSwitch(client.app, playback)];
  const media = { media: `sound:${path}` };
  const bridge = bridge_of.get(leg);
  if (bridge !== undefined) {
    const at = ariPath(["bridges", idAtSwitch(client.app, bridge), ...rest], media);
    const answer = expectDone("playing", await client.call("POST", at), [404]);
    if (answer.status !== 404) return answer;
    bridge_of.delete(leg);
  }
  const at = ariPath(["channels", idAtSwitch(client.app, leg), ...rest], media);
  return expectDone("playing", await whenHandedOver(() => client.call("POST", at), [409]), [404]);
}

/** From the last to the first, so that none of them begins. */
async function silence(client: AriClient, { open }: PlayingLeg): Promise<void> {
  for (const playback of [...open].toReversed()) {
    const path = ariPath(["playbacks", idAtSwitch(client.app, playback)]);
    expectDone("ending a playback", await client.call("DELETE", path), [404, 409]);
  }
}

function hearFinished(
  state: State,
  { id, state: how, media_uri, target_uri }: (AriEvent & { type: "PlaybackFinished" })["playback"],
  at: Date,
): void {
  const playback = ownName(state.client.app, id);
  if (playback === null) return;
  const leg = state.leg_of.get(playback) ?? legOfEarlier(state, playback, media_uri, target_uri);
  if (leg !== null && state.stays(leg)) finish(state, leg, playback, how !== "failed", at);
}

/** The leg to which an earlier leader played a clip, when it is no ringing or beep. */
function legOfEarlier(
  { client, legs }: State,
  playback: string,
  media_uri: string,
  target_uri: string,
): string | null {
  if (!media_uri.startsWith("sound:/") || !target_uri.startsWith("channel:")) return null;
  const leg = ownName(client.app, target_uri.slice("channel:".length));
  const isOurs = leg !== null && legs.get(leg)?.asked.has(playback) === true;
  return isOurs ? null : leg;
}

function finish(state: State, leg: string, playback: string, ok: boolean, at: Date): void {
  const playing = state.legs.get(leg);
  playing?.open.delete(playback);
  playing?.asked.set(playback, "taken");
  state.leg_of.delete(playback);
  state.tell({ type: "played", leg, playback, ok, at });
}

function forget({ legs, leg_of }: State, leg: string): void {
  for (const playback of legs.get(leg)?.open ?? []) leg_of.delete(playback);
  legs.delete(leg);
}
