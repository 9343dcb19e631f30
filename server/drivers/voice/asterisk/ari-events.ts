// The ARI events that Trunkline uses. `subscribed_events` filters out all others at the switch.

export const subscribed_events = [
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
  /** `Up` when answered. */
  readonly state: string;
  readonly channelvars?: Readonly<Record<string, string>>;
  /** `PJSIP/` and the endpoint, followed by `-` and hexadecimal digits. */
  readonly name?: string;
  readonly caller?: { readonly number?: string };
  /** `app_data` has the arguments, separated by commas. */
  readonly dialplan?: { readonly app_name?: string; readonly app_data?: string };
};

export type AriEvent =
  | { readonly type: "ApplicationReplaced" }
  /** The channel can be played to and bridged; `args` come from the dialplan. */
  | {
      readonly type: "StasisStart";
      readonly channel: AriChannel;
      readonly args?: readonly string[];
    }
  | { readonly type: "ChannelStateChange"; readonly channel: AriChannel }
  /** Outbound only: `` when the INVITE is sent, RINGING on a 180, PROGRESS on a 183, and so on. */
  | { readonly type: "Dial"; readonly peer: AriChannel; readonly dialstatus: string }
  | { readonly type: "ChannelDtmfReceived"; readonly channel: AriChannel; readonly digit: string }
  | {
      readonly type: "ChannelHangupRequest";
      readonly channel: AriChannel;
      /** Q.850; for a soft hangup its source: 32 is ARI or the Asterisk command line. */
      readonly cause?: number;
      /** Requested on this side; hangups by the far end are hard. */
      readonly soft?: boolean;
      readonly tech_cause?: number;
    }
  | {
      readonly type: "ChannelDestroyed";
      readonly channel: AriChannel;
      readonly cause: number;
      /** The SIP status; 480 when Asterisk's own ring time ended. */
      readonly tech_cause?: number;
    }
  | {
      readonly type: "PlaybackFinished";
      readonly playback: {
        readonly id: string;
        /** `done` (played or stopped) or `failed`. */
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
        /** In seconds; set when the recording has ended. */
        readonly duration?: number;
      };
    };

/** Parses a message; null for events that are not used or malformed. */
export function readAriEvent(text: string): AriEvent | null {
  let event: Partial<Record<string, unknown>> | null;
  try {
    event = JSON.parse(text) as typeof event;
  } catch {
    return null;
  }
  const type = subscribed_events.find((name) => name === event?.["type"]);
  if (!event || type === undefined) return null;
  if (type === "ApplicationReplaced") return { type };
  return isComplete(type, event) ? (event as AriEvent) : null;
}

function isComplete(type: AriEvent["type"], event: Partial<Record<string, unknown>>): boolean {
  const subject = (event[subjectOf(type)] ?? {}) as Record<string, unknown>;
  const required =
    type === "PlaybackFinished"
      ? ["id", "state", "media_uri", "target_uri"]
      : [type.startsWith("Recording") ? "name" : "id"];
  return required.every((field) => typeof subject[field] === "string");
}

function subjectOf(type: AriEvent["type"]): string {
  if (type === "Dial") return "peer";
  if (type === "PlaybackFinished") return "playback";
  return type.startsWith("Recording") ? "recording" : "channel";
}
