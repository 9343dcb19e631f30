// What Asterisk tells of the channels, as news of legs: each at most once, and in order.
import type { LiveLeg, VoiceEvent } from "../driver.ts";
import type { AriChannel, AriEvent } from "./ari-events.ts";
import { classifyEnding } from "./classify-ending.ts";
import { ownName } from "./names.ts";

/** What is known of a leg that has not ended. */
type Track = {
  /** When the INVITE left; null: before this session listened. */
  dialled_at: Date | null;
  /** The far end gave a sign: it rings, or plays something. */
  ringing: boolean;
  up_at: Date | null;
  answered: boolean;
  request: "none" | "far_end" | "us";
  we_hung_up: boolean;
  /** The last survey did not show it. */
  missed: boolean;
};

export type LegNews = {
  hear(event: AriEvent, at: Date): void;
  /** We are about to hang it up. */
  hangingUp(leg: string): void;
  rings(leg: string): boolean;
  /** It was heard of, and nobody is about to end it. */
  stays(leg: string): boolean;
  /**
   * What a survey shows of a leg that was never heard of counts as told, an answer as of `at`. A leg that
   * two in a row do not show is forgotten: its end was missed.
   */
  surveyed(live: readonly LiveLeg[], at: Date): void;
  /** Nothing lived through the switch's restart. */
  forgetAll(): void;
  size(): number;
};

/** Of a soft hangup request: by ARI or on the command line. */
const explicit_request = 32;

/** Of the application's legs: `tell` hears each leg's `ringing`, `answered`, `digit`, `detected` and `ended`. */
export function openLegNews(app: string, tell: (event: VoiceEvent) => void): LegNews {
  const tracks = new Map<string, Track>();
  const trackOf = (leg: string): Track => {
    const known = tracks.get(leg);
    if (known) return known;
    const track: Track = {
      dialled_at: null,
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
  const hearOf = (leg: string, event: AriEvent, at: Date) => {
    if (event.type === "ChannelDestroyed") {
      const track = trackOf(leg);
      tracks.delete(leg);
      for (const news of lastNews(leg, track, event, at)) tell(news);
      return;
    }
    for (const news of newsOf(leg, trackOf(leg), event, at)) tell(news);
  };
  return {
    hear(event, at) {
      const channel = channelIn(event);
      const leg = channel && ownName(app, channel.id);
      if (leg !== null) hearOf(leg, event, at);
    },
    hangingUp(leg) {
      const track = tracks.get(leg);
      if (track) track.we_hung_up = true;
    },
    rings: (leg) => tracks.get(leg)?.ringing ?? false,
    stays: (leg) => tracks.get(leg)?.request === "none",
    surveyed(live, at) {
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
    forgetAll: () => tracks.clear(),
    size: () => tracks.size,
  };
}

function channelIn(event: AriEvent): AriChannel | null {
  if (event.type === "Dial") return event.peer;
  return "channel" in event ? event.channel : null;
}

/** What the event means for a leg that lives on. */
function newsOf(leg: string, track: Track, event: AriEvent, at: Date): VoiceEvent[] {
  switch (event.type) {
    case "Dial":
      if (event.dialstatus === "") track.dialled_at ??= at;
      // A carrier may let its caller hear the ringing (183) instead of saying that it rings (180).
      return event.dialstatus === "PROGRESS" ? ringingNews(leg, track, at) : [];
    case "ChannelStateChange":
      if (event.channel.state === "Ringing") return ringingNews(leg, track, at);
      if (event.channel.state === "Up") track.up_at ??= at;
      return [];
    case "StasisStart":
      if (event.channel.state !== "Up") return [];
      return [...answeredNews(leg, track, at), ...detectedNews(leg, event.args ?? [], at)];
    case "ChannelDtmfReceived":
      return [{ type: "digit", leg, digit: event.digit, at }];
    case "ChannelHangupRequest":
      if (track.request === "none") track.request = requestedBy(event);
      return [];
    default:
      return [];
  }
}

function ringingNews(leg: string, track: Track, at: Date): VoiceEvent[] {
  if (track.ringing || track.up_at || track.answered) return [];
  track.ringing = true;
  return [{ type: "ringing", leg, at }];
}

/** Told once the leg may be bridged, a moment after it was answered; the time is that of the answer. */
function answeredNews(leg: string, track: Track, at: Date): VoiceEvent[] {
  if (track.answered) return [];
  track.answered = true;
  track.up_at ??= at;
  return [{ type: "answered", leg, at: track.up_at }];
}

/** Back from the context `amd`, with what it found. */
function detectedNews(leg: string, args: readonly string[], at: Date): VoiceEvent[] {
  const [what, found] = args;
  if (what !== "amd-done") return [];
  const answered_by = found === "HUMAN" ? "human" : found === "MACHINE" ? "machine" : "unknown";
  return [{ type: "detected", leg, answered_by, at }];
}

function requestedBy({ soft, cause }: AriEvent & { type: "ChannelHangupRequest" }) {
  return soft && cause === explicit_request ? "us" : "far_end";
}

function lastNews(
  leg: string,
  track: Track,
  { channel, cause, tech_cause }: AriEvent & { type: "ChannelDestroyed" },
  at: Date,
): VoiceEvent[] {
  const answered = track.up_at !== null || track.answered || channel.state === "Up";
  const gave_sign = track.ringing || channel.state === "Ringing";
  const silent_ms =
    gave_sign || track.dialled_at === null ? null : at.getTime() - track.dialled_at.getTime();
  const ending = classifyEnding({
    cause,
    tech_cause: tech_cause ?? null,
    answered,
    request: track.request,
    we_hung_up: track.we_hung_up,
    silent_ms,
  });
  const before = answered ? answeredNews(leg, track, at) : [];
  const answered_at = answered ? (track.up_at ?? at) : null;
  return [...before, { type: "ended", leg, at, ending, answered_at }];
}
