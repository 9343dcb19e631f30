// What Asterisk tells by its WebSocket, as far as it is used; the rest it keeps for itself (see
// `wanted_events`).

export const wanted_events = [
  "ApplicationReplaced",
  "StasisStart",
  "ChannelStateChange",
  "Dial",
  "ChannelDtmfReceived",
  "ChannelHangupRequest",
  "ChannelDestroyed",
  "PlaybackFinished",
  "RecordingStarted",
  "RecordingFinished",
  "RecordingFailed",
] as const;

export type AriChannel = {
  readonly id: string;
  /** Up: answered. */
  readonly state: string;
  readonly channelvars?: Readonly<Record<string, string>>;
};

export type AriEvent =
  | { readonly type: "ApplicationReplaced" }
  /** The channel can be played to and bridged from now on; `args`: as the dialplan says. */
  | {
      readonly type: "StasisStart";
      readonly channel: AriChannel;
      readonly args?: readonly string[];
    }
  | { readonly type: "ChannelStateChange"; readonly channel: AriChannel }
  /** Of an outgoing call: `` when the INVITE leaves, RINGING on a 180, PROGRESS on a 183, and so on. */
  | { readonly type: "Dial"; readonly peer: AriChannel; readonly dialstatus: string }
  | { readonly type: "ChannelDtmfReceived"; readonly channel: AriChannel; readonly digit: string }
  | {
      readonly type: "ChannelHangupRequest";
      readonly channel: AriChannel;
      /** Of a soft one not Q.850, but by whom: 32 is a request by ARI or on the command line. */
      readonly cause?: number;
      /** By this side; the far end's are hard. */
      readonly soft?: boolean;
      readonly tech_cause?: number;
    }
  | {
      readonly type: "ChannelDestroyed";
      readonly channel: AriChannel;
      readonly cause: number;
      /** The SIP status; also 480 when Asterisk itself gave up ringing. */
      readonly tech_cause?: number;
    }
  | {
      readonly type: "PlaybackFinished";
      readonly playback: {
        readonly id: string;
        /** `done`: played or stopped; or `failed`. */
        readonly state: string;
        readonly media_uri: string;
        /** `channel:<id>` or `bridge:<id>`. */
        readonly target_uri: string;
      };
    }
  | {
      readonly type: "RecordingStarted" | "RecordingFinished" | "RecordingFailed";
      readonly recording: {
        readonly name: string;
        /** `channel:<id>` or `bridge:<id>`. */
        readonly target_uri?: string;
        /** Seconds; once it is over. */
        readonly duration?: number;
      };
    };

/** The event in a message; null for what is not wanted or of no known shape. */
export function readAriEvent(text: string): AriEvent | null {
  let event: Partial<Record<string, unknown>> | null;
  try {
    event = JSON.parse(text) as typeof event;
  } catch {
    return null;
  }
  const type = wanted_events.find((name) => name === event?.["type"]);
  if (!event || type === undefined) return null;
  if (type === "ApplicationReplaced") return { type };
  return isWhole(type, event) ? (event as AriEvent) : null;
}

function isWhole(type: AriEvent["type"], event: Partial<Record<string, unknown>>): boolean {
  const subject = (event[subjectOf(type)] ?? {}) as Record<string, unknown>;
  const wanted =
    type === "PlaybackFinished"
      ? ["id", "state", "media_uri", "target_uri"]
      : [type.startsWith("Recording") ? "name" : "id"];
  return wanted.every((field) => typeof subject[field] === "string");
}

function subjectOf(type: AriEvent["type"]): string {
  if (type === "Dial") return "peer";
  if (type === "PlaybackFinished") return "playback";
  return type.startsWith("Recording") ? "recording" : "channel";
}
