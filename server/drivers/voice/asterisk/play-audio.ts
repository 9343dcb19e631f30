// Plays audio to legs, one after another, and reports the end of each once.
import type { Audio } from "../../../lib/audio/audio.ts";
import type { VoiceEvent } from "../driver.ts";
import { ariPath, expectSuccess, type AriResponse, type AriClient } from "./ari-client.ts";
import type { AriEvent } from "./ari-events.ts";
import type { AudioFolder } from "./store-audio-file.ts";
import { idAtSwitch, ownName } from "./names.ts";
import { retryUntilInStasis } from "./retry-until-in-stasis.ts";

export type AudioPlayer = {
  /** See VoiceSession.play. */
  play(leg: string, playback: string, audio: Audio): Promise<void>;
  /** See VoiceSession.stopPlaying. */
  stop(leg: string): Promise<void>;
  onFinished(event: AriEvent & { type: "PlaybackFinished" }, at: Date): void;
  /** Records a lost connection: the end of current playbacks may be missed. */
  onDisconnected(): void;
  /** Drops an ended leg and its playbacks. */
  remove(leg: string): void;
  clear(): void;
};

export type AudioPlayerParts = {
  readonly client: AriClient;
  readonly audio_files: AudioFolder;
  /** The known bridge of each leg. */
  readonly bridge_of: Map<string, string>;
  /** The legs that this session dialed, to which no earlier session played anything. */
  readonly dialed: ReadonlySet<string>;
  /** Returns whether the leg is live and no hangup was requested. */
  readonly isActive: (leg: string) => boolean;
  readonly emit: (event: VoiceEvent) => void;
};

type PlayingLeg = {
  /** Settles with the last request; requests for a leg run one after another. */
  queue: Promise<unknown>;
  /** Requested and not reported yet, in order. */
  readonly open: Set<string>;
  /** All requested playbacks; `doubtful` when the switch may or may not know them. */
  readonly requested: Map<string, "accepted" | "doubtful">;
  stops: number;
};

type State = AudioPlayerParts & {
  readonly legs: Map<string, PlayingLeg>;
  /** The leg of each playback, including those that play to a bridge. */
  readonly leg_of: Map<string, string>;
  /** How often the connection was lost. */
  disconnects: number;
};

/** Opens the player of a session, which emits `played` through `parts.emit`. */
export function openAudioPlayer(parts: AudioPlayerParts): AudioPlayer {
  const state: State = { ...parts, legs: new Map(), leg_of: new Map(), disconnects: 0 };
  return {
    play(leg, playback, audio) {
      const playing = playingOf(state, leg);
      const done = playing.queue.then(() => start(state, leg, playing, playback, audio));
      playing.queue = done.catch(() => {});
      return done;
    },
    async stop(leg) {
      const playing = state.legs.get(leg);
      if (playing === undefined) return;
      playing.stops += 1;
      await stopPlaybacks(parts.client, playing);
      // A request that was under way may have started another playback.
      await playing.queue;
      await stopPlaybacks(parts.client, playing);
    },
    onFinished: ({ playback }, at) => handleFinished(state, playback, at),
    onDisconnected() {
      state.disconnects += 1;
      for (const { open, requested } of state.legs.values())
        for (const playback of open) requested.set(playback, "doubtful");
    },
    remove: (leg) => remove(state, leg),
    clear() {
      for (const leg of state.legs.keys()) remove(state, leg);
    },
  };
}

function playingOf({ legs }: State, leg: string): PlayingLeg {
  const known = legs.get(leg);
  if (known) return known;
  const playing = {
    queue: Promise.resolve(),
    open: new Set<string>(),
    requested: new Map(),
    stops: 0,
  };
  legs.set(leg, playing);
  return playing;
}

async function start(
  state: State,
  leg: string,
  playing: PlayingLeg,
  playback: string,
  audio: Audio,
): Promise<void> {
  const { stops } = playing;
  if (playing.requested.get(playback) === "accepted") return;
  const path = await state.audio_files.store(audio);
  if (state.legs.get(leg) !== playing) return;
  const isDoubtful = playing.requested.has(playback) || !state.dialed.has(leg);
  playing.requested.set(playback, "doubtful");
  playing.open.add(playback);
  state.leg_of.set(playback, leg);
  if (isDoubtful && (await isAccepted(state.client, playback))) {
    playing.requested.set(playback, "accepted");
    return;
  }
  // The end of the playback, or of the leg, may have been reported in the meantime.
  if (playing.requested.get(playback) === "accepted" || state.legs.get(leg) !== playing) return;
  if (playing.stops > stops) {
    finish(state, leg, playback, true, new Date());
    return;
  }
  const { disconnects } = state;
  const response = await requestPlayback(state, leg, playback, path);
  if (response.status === 404) remove(state, leg);
  else if (state.disconnects === disconnects) playing.requested.set(playback, "accepted");
}

async function isAccepted(client: AriClient, playback: string): Promise<boolean> {
  const path = ariPath(["playbacks", idAtSwitch(client.app, playback)]);
  const response = await client.call("GET", path);
  return expectSuccess("reading a playback", response, [404]).status !== 404;
}

/** Plays to the leg's bridge if it is in one, otherwise to the leg. 404 when the leg has ended. */
async function requestPlayback(
  { client, bridge_of }: State,
  leg: string,
  playback: string,
  path: string,
): Promise<AriResponse> {
  const rest = ["play", idAtSwitch(client.app, playback)];
  const media = { media: `sound:${path}` };
  const bridge = bridge_of.get(leg);
  if (bridge !== undefined) {
    const at = ariPath(["bridges", idAtSwitch(client.app, bridge), ...rest], media);
    const response = expectSuccess("playing", await client.call("POST", at), [404]);
    if (response.status !== 404) return response;
    bridge_of.delete(leg);
  }
  const at = ariPath(["channels", idAtSwitch(client.app, leg), ...rest], media);
  const response = await retryUntilInStasis(() => client.call("POST", at), [409]);
  return expectSuccess("playing", response, [404]);
}

/** Stops the playbacks in reverse order, so that no queued one starts. */
async function stopPlaybacks(client: AriClient, { open }: PlayingLeg): Promise<void> {
  for (const playback of [...open].toReversed()) {
    const path = ariPath(["playbacks", idAtSwitch(client.app, playback)]);
    expectSuccess("stopping a playback", await client.call("DELETE", path), [404, 409]);
  }
}

function handleFinished(
  state: State,
  {
    id,
    state: result,
    media_uri,
    target_uri,
  }: (AriEvent & { type: "PlaybackFinished" })["playback"],
  at: Date,
): void {
  const playback = ownName(state.client.app, id);
  if (playback === null) return;
  const leg = state.leg_of.get(playback) ?? legOfEarlier(state, playback, media_uri, target_uri);
  if (leg !== null && state.isActive(leg)) finish(state, leg, playback, result !== "failed", at);
}

/** Returns the leg to which an earlier session played audio; null for ringback and beeps. */
function legOfEarlier(
  { client, legs }: State,
  playback: string,
  media_uri: string,
  target_uri: string,
): string | null {
  if (!media_uri.startsWith("sound:/") || !target_uri.startsWith("channel:")) return null;
  const leg = ownName(client.app, target_uri.slice("channel:".length));
  const isOurs = leg !== null && legs.get(leg)?.requested.has(playback) === true;
  return isOurs ? null : leg;
}

function finish(state: State, leg: string, playback: string, ok: boolean, at: Date): void {
  const playing = state.legs.get(leg);
  playing?.open.delete(playback);
  playing?.requested.set(playback, "accepted");
  state.leg_of.delete(playback);
  state.emit({ type: "played", leg, playback, ok, at });
}

function remove({ legs, leg_of }: State, leg: string): void {
  for (const playback of legs.get(leg)?.open ?? []) leg_of.delete(playback);
  legs.delete(leg);
}
