// Translates ARI events into leg events: each at most once, and in order.
import type { LiveLeg, VoiceEvent } from "../driver.ts";
import type { AriChannel, AriEvent } from "./ari-events.ts";
import { classifyEnding } from "./classify-ending.ts";
import { ownName } from "./names.ts";

/** The state of a leg that has not ended. */
type Track = {
  /** When the INVITE was sent; null when this session was not connected then. */
  dialed_at: Date | null;
  /** The far end responded: it rings or sends early media. */
  ringing: boolean;
  up_at: Date | null;
  answered: boolean;
  request: "none" | "far_end" | "us";
  we_hung_up: boolean;
  /** The last snapshot did not contain the leg. */
  missed: boolean;
};

export type LegTracker = {
  onAriEvent(event: AriEvent, at: Date): void;
  /** Emits `answered` for an incoming call that is now this leg. */
  answered(leg: string, at: Date): void;
  /** Records that this session is about to hang up the leg. */
  hangingUp(leg: string): void;
  /** Returns whether the far end of a leg rings or sends early media. */
  rings(leg: string): boolean;
  /** Returns whether the leg is tracked and no hangup was requested. */
  isActive(leg: string): boolean;
  /**
   * Takes over a snapshot of the live legs. Untracked legs count as reported, answers as of `at`. A leg
   * that is missing in two consecutive snapshots is removed, because its end was missed.
   */
  onSnapshot(live: readonly LiveLeg[], at: Date): void;
  /** Removes all legs, after a restart of the switch. */
  clear(): void;
  size(): number;
};

/** The cause of a soft hangup request from ARI or the command line. */
const explicit_request = 32;

/** Tracks the legs of `app` and emits `ringing`, `answered`, `digit`, `detected` and `ended`. */
export function openLegTracker(app: string, emit: (event: VoiceEvent) => void): LegTracker {
  const tracks = new Map<string, Track>();
  const trackOf = (leg: string): Track => {
    const known = tracks.get(leg);
    if (known) return known;
    const track: Track = {
      dialed_at: null,
      ringing: false,
      up_at: null,
      answered: false,
      request: "none",
      we_hung_up: false,
      missed: false,
    };
    tracks.set(leg, track);
    return track;
  };
  const handle = (leg: string, ari_event: AriEvent, at: Date) => {
    if (ari_event.type === "ChannelDestroyed") {
      const track = trackOf(leg);
      tracks.delete(leg);
      for (const event of finalEvents(leg, track, ari_event, at)) emit(event);
      return;
    }
    for (const event of eventsFor(leg, trackOf(leg), ari_event, at)) emit(event);
  };
  return {
    onAriEvent(event, at) {
      const channel = channelIn(event);
      const leg = channel && ownName(app, channel.id);
      if (leg !== null) handle(leg, event, at);
    },
    answered(leg, at) {
      for (const event of answeredEvents(leg, trackOf(leg), at)) emit(event);
    },
    hangingUp(leg) {
      const track = tracks.get(leg);
      if (track) track.we_hung_up = true;
    },
    rings: (leg) => tracks.get(leg)?.ringing ?? false,
    isActive: (leg) => tracks.get(leg)?.request === "none",
    onSnapshot(live, at) {
      const shown = new Set(live.map(({ leg }) => leg));
      for (const [leg, track] of tracks) {
        if (!shown.has(leg) && track.missed) tracks.delete(leg);
        else track.missed = !shown.has(leg);
      }
      for (const { leg, state } of live) {
        if (state === "dialing" || tracks.has(leg)) continue;
        const track = trackOf(leg);
        track.ringing = true;
        if (state !== "answered") continue;
        track.answered = true;
        track.up_at = at;
      }
    },
    clear: () => tracks.clear(),
    size: () => tracks.size,
  };
}

function channelIn(event: AriEvent): AriChannel | null {
  if (event.type === "Dial") return event.peer;
  return "channel" in event ? event.channel : null;
}

/** Updates a live leg and returns the events to emit. */
function eventsFor(leg: string, track: Track, event: AriEvent, at: Date): VoiceEvent[] {
  switch (event.type) {
    case "Dial":
      if (event.dialstatus === "") track.dialed_at ??= at;
      // Some carriers send early media (183) instead of a ringing response (180).
      return event.dialstatus === "PROGRESS" ? ringingEvents(leg, track, at) : [];
    case "ChannelStateChange":
      if (event.channel.state === "Ringing") return ringingEvents(leg, track, at);
      if (event.channel.state === "Up") track.up_at ??= at;
      return [];
    case "StasisStart":
      if (event.channel.state !== "Up") return [];
      return [...answeredEvents(leg, track, at), ...detectedEvents(leg, event.args ?? [], at)];
    case "ChannelDtmfReceived":
      return [{ type: "digit", leg, digit: event.digit, at }];
    case "ChannelHangupRequest":
      if (track.request === "none") track.request = requestedBy(event);
      return [];
    default:
      return [];
  }
}

function ringingEvents(leg: string, track: Track, at: Date): VoiceEvent[] {
  if (track.ringing || track.up_at || track.answered) return [];
  track.ringing = true;
  return [{ type: "ringing", leg, at }];
}

/** Emitted once the leg can be bridged, a moment after the answer, with the time of the answer. */
function answeredEvents(leg: string, track: Track, at: Date): VoiceEvent[] {
  if (track.answered) return [];
  track.answered = true;
  track.up_at ??= at;
  return [{ type: "answered", leg, at: track.up_at }];
}

/** Reads the result of AMD when the leg returns from the dialplan context `amd`. */
function detectedEvents(leg: string, args: readonly string[], at: Date): VoiceEvent[] {
  const [reason, result] = args;
  if (reason !== "amd-done") return [];
  const answered_by = result === "HUMAN" ? "human" : result === "MACHINE" ? "machine" : "unknown";
  return [{ type: "detected", leg, answered_by, at }];
}

function requestedBy({ soft, cause }: AriEvent & { type: "ChannelHangupRequest" }) {
  return soft && cause === explicit_request ? "us" : "far_end";
}

function finalEvents(
  leg: string,
  track: Track,
  { channel, cause, tech_cause }: AriEvent & { type: "ChannelDestroyed" },
  at: Date,
): VoiceEvent[] {
  const answered = track.up_at !== null || track.answered || channel.state === "Up";
  const hasResponded = track.ringing || channel.state === "Ringing";
  const silent_ms =
    hasResponded || track.dialed_at === null ? null : at.getTime() - track.dialed_at.getTime();
  const ending = classifyEnding({
    cause,
    tech_cause: tech_cause ?? null,
    answered,
    request: track.request,
    we_hung_up: track.we_hung_up,
    silent_ms,
  });
  const before = answered ? answeredEvents(leg, track, at) : [];
  const answered_at = answered ? (track.up_at ?? at) : null;
  return [...before, { type: "ended", leg, at, ending, answered_at }];
}
