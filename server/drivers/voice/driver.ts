// What a telephone switch must do for us. Every driver passes the same contract suite. A driver knows
// no feature, no SQL and no jobs: it dials legs, joins them, and tells what becomes of each.
import type { Readable } from "node:stream";
import type { Audio } from "../../lib/audio/audio.ts";
import type { CallMedia } from "../call-media.ts";

export const voice_driver_names = ["sandbox", "asterisk"] as const;
export type VoiceDriverName = (typeof voice_driver_names)[number];

/** The switch, as its operator described it. */
export type VoiceNode = {
  readonly id: number;
  readonly name: string;
  /** Null for the sandbox. */
  readonly ari: {
    /** `http://127.0.0.1:8088/ari`, without a trailing slash. */
    readonly url: string;
    readonly user: string;
    readonly password: string;
    /** One leader per application and switch: a second connection silences the first. */
    readonly app: string;
  } | null;
  /** The switch's file of call records, if this machine can read it. */
  readonly cdr_path: string | null;
  /** A folder that this machine writes and the switch reads, both under this path; null: nothing can be played. */
  readonly sounds_dir: string | null;
};

/** Where a leg is dialled to. */
export type DialTarget =
  /** A phone that is registered at the switch; `number` is its extension. */
  | { readonly kind: "extension"; readonly endpoint: string; readonly number: string }
  /** Out over a carrier, the number in the form the carrier wants it. */
  | { readonly kind: "trunk"; readonly endpoint: string; readonly number: string };

export type Dial = {
  /** Ours, 1-64 characters of [A-Za-z0-9.-], never used twice. */
  readonly leg: string;
  /** What legs of one call have in common; a survey tells it. */
  readonly call: string;
  readonly to: DialTarget;
  /** Digits shown to whoever is called. */
  readonly caller_id: string;
  /** After so long without an answer it is given up. */
  readonly ring_seconds: number;
};

/**
 * Why a leg is over. Of one that was never answered:
 * - `busy`, `no_answer`, `declined` (do not call again), `unallocated` (no such number), `invalid`
 *   (not a number the carrier understands), `congestion` (the carrier has no room just now),
 *   `unreachable` (the phone is not registered, the carrier does not respond), `failed` (anything else);
 * - `canceled`: we gave it up; `unplaced`: it certainly never reached anybody;
 * - `lost`: nobody can say.
 * Of one that was answered: `hung_up`, or `lost` when the switch went away under it.
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
  /** Q.850. */
  readonly cause: number | null;
  readonly sip_status: number | null;
  /** `us`: it ended because we hung up. */
  readonly by: "far_end" | "us";
};

/** What a switch tells of its own accord. Times are this machine's. */
export type VoiceEvent =
  /** After each (re)connection, once it is heard what happens; `epoch` changes when the switch restarted. */
  | { readonly type: "connected"; readonly epoch: string }
  | { readonly type: "disconnected" }
  /** Somebody else took the connection over: this one stays silent for good. */
  | { readonly type: "replaced" }
  | { readonly type: "ringing"; readonly leg: string; readonly at: Date }
  | { readonly type: "answered"; readonly leg: string; readonly at: Date }
  | { readonly type: "digit"; readonly leg: string; readonly digit: string; readonly at: Date }
  /** `answered_at`: as far as the session knows; who could not hear the answer yet learns of it here. */
  | {
      readonly type: "ended";
      readonly leg: string;
      readonly at: Date;
      readonly ending: Ending;
      readonly answered_at: Date | null;
    }
  | { readonly type: "recorded"; readonly recording: string; readonly ok: boolean }
  /** `ok`: it was played to its end, or stopped by us; false: it could not be played. Of a leg that ended, nothing follows. */
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
    };

/** Who answered, as far as listening for some seconds can tell. */
export type AnsweredBy = "human" | "machine" | "unknown";

/** When the recording of a message is over, beside the end of the leg and `stopMessage`. */
export type MessageLimits = { readonly max_seconds: number; readonly silence_seconds: number };

export type LiveLeg = {
  readonly leg: string;
  readonly call: string;
  readonly state: "dialing" | "ringing" | "answered";
};

/** What there is of ours at the switch just now. */
export type Survey = {
  readonly epoch: string;
  readonly legs: readonly LiveLeg[];
  readonly bridges: readonly string[];
};

/** What the switch wrote down of a leg that is over. */
export type LegRecord = {
  readonly answered_at: Date | null;
  readonly ended_at: Date;
  readonly ending: Ending;
};

/**
 * Why something was not done:
 * - `refused`: the switch said no; it did not happen. `ending` says what that means for a leg.
 * - `unreachable`: the request never left.
 * - `unknown`: it may have happened.
 */
export type VoiceFailure = "refused" | "unreachable" | "unknown";

export class VoiceError extends Error {
  override readonly name = "VoiceError";
  readonly failure: VoiceFailure;
  /** Of a dial that was refused. */
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
 * The one connection of a switch's leader. What concerns something that is already gone (a leg that
 * hung up, a bridge that ended) succeeds without doing anything; every other failure is a VoiceError.
 * All of it may be repeated: a leg that lives already is not dialled again, a bridge is made once.
 */
export type VoiceSession = {
  /** Resolves when the switch took it; `ringing`, `answered`, `ended` follow. */
  dial(dial: Dial): Promise<void>;
  /** `cause`: Q.850 as the far end is told it, 16 unless said. `ended` follows. */
  hangUp(leg: string, cause?: number): Promise<void>;
  /** The leg, which was answered, hears that somebody else is being called. */
  ringback(leg: string): Promise<void>;
  stopRingback(leg: string): Promise<void>;
  /** Joins the legs, beside those that are in the bridge already; makes the bridge if need be. */
  bridge(bridge: string, legs: readonly string[]): Promise<void>;
  /** Ends the bridge; its legs live on. */
  endBridge(bridge: string): Promise<void>;
  /** Records what is heard in the bridge until it ends, under a name never used twice; `recorded` follows. */
  record(bridge: string, recording: string): Promise<void>;
  /**
   * Plays a clip to an answered leg, or to all in its bridge; what it plays already goes before it. `played`
   * follows. `playback`: a name never used twice, [A-Za-z0-9.-]{1,64}. Throws what the clip's `read` throws.
   */
  play(leg: string, playback: string, audio: Audio): Promise<void>;
  /** Silent at once; what was to come after it is not played either, each told of by `played`. */
  stopPlaying(leg: string): Promise<void>;
  /** Listens for who answered; `detected` follows within 6 s. Nothing may be played meanwhile. */
  detect(leg: string): Promise<void>;
  /** A beep, then records what the leg says, under a name never used twice; `recorded` follows. */
  recordMessage(leg: string, recording: string, limits: MessageLimits): Promise<void>;
  /** Ends the recording of a message; what was said until then is kept. */
  stopMessage(recording: string): Promise<void>;
  /**
   * Sound both ways with an answered leg, which stands in the bridge from then on; further legs may join.
   * It ends with the leg, with the connection and with this process: no other can take it over.
   */
  openMedia(bridge: string, leg: string): Promise<CallMedia>;
  survey(): Promise<Survey>;
  /** What was written down of a leg that the survey does not show; null when there is nothing, `unreadable` when nobody can look. */
  findRecord(leg: string): Promise<LegRecord | null | "unreadable">;
  /** Ends the connection; legs live on. */
  close(): Promise<void>;
};

export type VoiceDriver = {
  /**
   * Connects in the background and stays so, for ever, until closed or replaced. Never throws. `mayAct`
   * is asked as each request is about to leave, however long it waited for that: one that may not is
   * `unreachable`.
   */
  open(node: VoiceNode, hear: (event: VoiceEvent) => void, mayAct?: () => boolean): VoiceSession;
  /** A recording as a WAV file, from the switch that made it; null when it has none. Throws VoiceError. */
  readRecording(node: VoiceNode, recording: string): Promise<Readable | null>;
  /** Gone for good, also when there was none. Throws VoiceError. */
  deleteRecording(node: VoiceNode, recording: string): Promise<void>;
};

/** The drivers this process has. */
export type VoiceDrivers = Readonly<Partial<Record<VoiceDriverName, VoiceDriver>>>;
