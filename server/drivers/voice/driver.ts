// The interface of voice drivers: originating legs, bridging them, playing and recording audio, and
// reporting events. Every driver passes test/support/voice-driver-contract.ts. A driver has no knowledge
// of features, SQL or jobs.
import type { Readable } from "node:stream";
import type { Audio } from "../../lib/audio/audio.ts";
import type { CallMedia } from "../call-media.ts";

export const voice_driver_names = ["sandbox", "asterisk"] as const;
export type VoiceDriverName = (typeof voice_driver_names)[number];

/** A switch, as the operator configured it. */
export type VoiceNode = {
  readonly id: number;
  readonly name: string;
  /** Null for the sandbox. */
  readonly ari: {
    /** `http://127.0.0.1:8088/ari`, without a trailing slash. */
    readonly url: string;
    readonly user: string;
    readonly password: string;
    /** The ARI application. Only one session per application and switch: a second replaces the first. */
    readonly app: string;
  } | null;
  /** The path of the switch's CDR file; null when this machine cannot read it. */
  readonly cdr_path: string | null;
  /**
   * A folder that this machine writes and the switch reads, under the same path on both; null when the
   * node cannot play audio.
   */
  readonly sounds_dir: string | null;
};

/** The destination of an outbound leg. */
export type DialTarget =
  /** A phone registered at the switch; `number` is its extension. */
  | { readonly kind: "extension"; readonly endpoint: string; readonly number: string }
  /** A number reached through a carrier, in the format that the carrier expects. */
  | { readonly kind: "trunk"; readonly endpoint: string; readonly number: string };

export type Dial = {
  /** Chosen by the caller of `dial`: 1-64 characters of [A-Za-z0-9.-], never reused. */
  readonly leg: string;
  /** The ID shared by all legs of a call; returned with each live leg. */
  readonly call: string;
  readonly to: DialTarget;
  /** The caller ID, in digits. */
  readonly caller_id: string;
  /** The switch ends the leg when it is not answered within this time. */
  readonly ring_seconds: number;
};

/**
 * Why a leg ended. Legs that were never answered:
 * - `busy`, `no_answer`, `declined` (do not call again), `unallocated` (the number does not exist),
 *   `invalid` (the carrier rejects the number's format), `congestion` (the carrier has no capacity),
 *   `unreachable` (the phone is not registered, or the carrier does not respond), `failed` (other reasons,
 *   such as a carrier that refuses the account);
 * - `canceled`: hung up by Trunkline before the answer; `unplaced`: certainly never dialed;
 * - `lost`: the outcome is unknown.
 * Legs that were answered: `hung_up`, or `lost` when the switch failed during the call.
 */
export const leg_outcomes = [
  "hung_up",
  "busy",
  "no_answer",
  "declined",
  "unallocated",
  "invalid",
  "congestion",
  "unreachable",
  "failed",
  "canceled",
  "unplaced",
  "lost",
] as const;
export type LegOutcome = (typeof leg_outcomes)[number];

export type Ending = {
  readonly outcome: LegOutcome;
  /** Hangup cause (Q.850). */
  readonly cause: number | null;
  readonly sip_status: number | null;
  /** `us`: Trunkline hung up. */
  readonly by: "far_end" | "us";
};

/** An event that a session reports. Times are those of this machine's clock. */
export type VoiceEvent =
  /** The session is connected and receives events; `epoch` differs after a restart of the switch. */
  | { readonly type: "connected"; readonly epoch: string }
  /** `seen_at`: when the switch last sent anything. */
  | { readonly type: "disconnected"; readonly seen_at: Date }
  /** Another session has taken over the connection; this one reports nothing more. */
  | { readonly type: "replaced" }
  | { readonly type: "ringing"; readonly leg: string; readonly at: Date }
  | { readonly type: "answered"; readonly leg: string; readonly at: Date }
  | { readonly type: "digit"; readonly leg: string; readonly digit: string; readonly at: Date }
  /** `answered_at`: as far as the session knows, including an answer for which it reported no event. */
  | {
      readonly type: "ended";
      readonly leg: string;
      readonly at: Date;
      readonly ending: Ending;
      readonly answered_at: Date | null;
    }
  | { readonly type: "recorded"; readonly recording: string; readonly ok: boolean }
  /**
   * `ok`: true when the audio was played to its end or stopped by Trunkline, false when it could not be
   * played. Not reported for a leg that has ended.
   */
  | {
      readonly type: "played";
      readonly leg: string;
      readonly playback: string;
      readonly ok: boolean;
      readonly at: Date;
    }
  | {
      readonly type: "detected";
      readonly leg: string;
      readonly answered_by: AnsweredBy;
      readonly at: Date;
    }
  | { readonly type: "silent"; readonly leg: string; readonly at: Date }
  /** A call came in over a trunk. It waits for `answer` or `refuse`; a later session reports it again. */
  | ({ readonly type: "incoming"; readonly at: Date } & IncomingCall);

export type IncomingCall = {
  /** The name of its leg at the switch. */
  readonly channel: string;
  /** The endpoint of the trunk. */
  readonly endpoint: string;
  /** The caller's number as the carrier sends it; empty: withheld. */
  readonly from: string;
  readonly to: string;
};

/** The result of answering machine detection (AMD). */
export type AnsweredBy = "human" | "machine" | "unknown";

/** Limits of a message recording, which also ends with its leg or by `stopMessage`. */
export type MessageLimits = { readonly max_seconds: number; readonly silence_seconds: number };

export type LiveLeg = {
  readonly leg: string;
  readonly call: string;
  readonly state: "dialing" | "ringing" | "answered";
};

/** Trunkline's live legs and bridges at the switch. */
export type SwitchSnapshot = {
  readonly epoch: string;
  readonly legs: readonly LiveLeg[];
  readonly bridges: readonly string[];
};

/** The CDR of an ended leg. */
export type LegRecord = {
  readonly answered_at: Date | null;
  readonly ended_at: Date;
  readonly ending: Ending;
};

/**
 * How a request failed:
 * - `refused`: the switch rejected it; it had no effect. `ending` is the resulting end of a leg.
 * - `unreachable`: it was never sent.
 * - `unknown`: it may have been executed.
 */
export type VoiceFailure = "refused" | "unreachable" | "unknown";

export class VoiceError extends Error {
  override readonly name = "VoiceError";
  readonly failure: VoiceFailure;
  /** Set for a `dial` that the switch refused. */
  readonly ending: Ending | null;
  constructor(
    failure: VoiceFailure,
    message: string,
    more: { ending?: Ending; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.failure = failure;
    this.ending = more.ending ?? null;
  }
}

/**
 * The only connection of a node leader to its switch. Requests about a leg or bridge that no longer exists
 * succeed without effect; every other failure throws VoiceError. All requests are idempotent: a live leg
 * is not dialed twice and a bridge is created once.
 */
export type VoiceSession = {
  /** Originates a leg. Resolves when the switch accepts it; reports `ringing`, `answered`, `ended`. */
  dial(dial: Dial): Promise<void>;
  /** Hangs up with a Q.850 cause, 16 by default; reports `ended`. */
  hangUp(leg: string, cause?: number): Promise<void>;
  /** Plays the ringback tone to an answered leg until `stopRingback` or `bridge`. */
  ringback(leg: string): Promise<void>;
  stopRingback(leg: string): Promise<void>;
  /**
   * Adds the legs to the bridge and creates it if it does not exist; its other legs stay. Ends `awaitSilence` and
   * message recordings of the legs; messages that an earlier session began need `stopMessage` first.
   */
  bridge(bridge: string, legs: readonly string[]): Promise<void>;
  /** Destroys the bridge; its legs stay connected. */
  endBridge(bridge: string): Promise<void>;
  /** Records the bridge until it ends, under a name that is never reused; reports `recorded`. */
  record(bridge: string, recording: string): Promise<void>;
  /**
   * Queues audio for an answered leg, or for all legs of its bridge; reports `played`. `playback` is a name
   * that is never reused, [A-Za-z0-9.-]{1,64}. Also throws what `audio.read` throws.
   */
  play(leg: string, playback: string, audio: Audio): Promise<void>;
  /** Stops the current audio and clears the queue; reports `played` for each. */
  stopPlaying(leg: string): Promise<void>;
  /** Starts AMD; reports `detected` within 6 s. Do not play audio in the meantime. */
  detect(leg: string): Promise<void>;
  /**
   * Listens, once per leg, until it has been silent for 2 s, at most 32 s; reports `silent`, which a repeated request
   * reports if it was missed. Do not play audio in the meantime.
   */
  awaitSilence(leg: string): Promise<void>;
  /**
   * Plays a beep and records the leg's audio, under a name that is never reused; reports `recorded`. A repeated request
   * reports it if its event was missed.
   */
  recordMessage(leg: string, recording: string, limits: MessageLimits): Promise<void>;
  /** Ends a message recording and keeps what was recorded. */
  stopMessage(recording: string): Promise<void>;
  /**
   * Adds an answered leg to the bridge and opens two-way audio with it; further legs may be added. The
   * media ends with the leg, the connection or this process; another process cannot take it over.
   */
  openMedia(bridge: string, leg: string): Promise<CallMedia>;
  /**
   * Answers an incoming call, which is the leg from now on, and reports `answered`, or `ended` if the caller has
   * hung up. `leg`: a name as for `dial`.
   */
  answer(channel: string, leg: string): Promise<void>;
  /** Refuses an incoming call as busy. If that fails, each snapshot that still shows the call refuses it again. */
  refuse(channel: string): Promise<void>;
  /** Returns the live legs and bridges. */
  snapshot(): Promise<SwitchSnapshot>;
  /** Returns the CDRs of those legs that have one, by leg; `unreadable` when CDRs cannot be read. */
  findCdrs(legs: readonly string[]): Promise<ReadonlyMap<string, LegRecord> | "unreadable">;
  /** Closes the connection; legs stay connected. */
  close(): Promise<void>;
};

export type VoiceDriver = {
  /**
   * Opens a session, which connects in the background and reconnects until it is closed or replaced. Never
   * throws. `maySend` is checked immediately before each request is sent, however long it was queued; when
   * it returns false, the request fails as `unreachable`.
   */
  open(
    node: VoiceNode,
    onEvent: (event: VoiceEvent) => void,
    maySend?: () => boolean,
  ): VoiceSession;
  /** Streams a recording as a WAV file from its node; null when it does not exist. Throws VoiceError. */
  readRecording(node: VoiceNode, recording: string): Promise<Readable | null>;
  /** Deletes a recording; succeeds when it does not exist. Throws VoiceError. */
  deleteRecording(node: VoiceNode, recording: string): Promise<void>;
};

/** The voice drivers of this process. */
export type VoiceDrivers = Readonly<Partial<Record<VoiceDriverName, VoiceDriver>>>;
