// How the sandbox's simulated phones behave. Only the number decides; docs/guides/sandbox.md has the table.
import type { AnsweredBy, Ending, LegOutcome } from "../driver.ts";

/** Times count from the dial, except those of `hang_up` and `presses`. */
export type LegBehavior =
  /** The switch refuses the dial. */
  | { readonly kind: "refused"; readonly ending: Ending }
  | {
      readonly kind: "fails";
      /** Null when it does not ring. */
      readonly rings_ms: number | null;
      readonly fails_ms: number;
      readonly ending: Ending;
      /** Calls the caller ID back. */
      readonly calls_back?: true;
    }
  /** Rings until it is canceled or its ring time ends. */
  | { readonly kind: "rings"; readonly rings_ms: number }
  | {
      readonly kind: "answers";
      readonly rings_ms: number;
      readonly answers_ms: number;
      /** Null when it never hangs up. */
      readonly hang_up: HangUp | null;
      /** Each key is pressed once; times count from the bridge, or from the start of playback or media. */
      readonly presses: readonly Press[];
      readonly answered_by: AnsweredBy;
      /** How long it tolerates silence from a service before it hangs up; null for no limit. */
      readonly patience_ms: number | null;
    };

export type Press = { readonly digit: string; readonly after_ms: number };

/** When a phone hangs up: after its own answer, or after it is in a bridge with another leg. */
export type HangUp = { readonly since: "answer" | "bridge"; readonly after_ms: number };

/**
 * A leg dialed over a trunk while another leg of the call is answered is a customer, and so is a leg to
 * which audio plays.
 */
export type SandboxRole = "agent" | "customer";

const rings_ms = 200;
const answers_ms = 700;
const fails_ms = 500;
const declines_ms = 1_500;
const customer_talks_ms = 5_000;
const agent_talks_ms = 2_000;
const press_ms = 1_000;
const patience_ms = 5_000;

/** Builds the behavior of a code; `talk` is when the role hangs up by default. */
type BehaviorFactory = (talk: HangUp | null) => LegBehavior;

type Answering = Extract<LegBehavior, { kind: "answers" }>;

const answers = (hang_up: HangUp | null, more: Partial<Answering> = {}): Answering => ({
  kind: "answers",
  rings_ms,
  answers_ms,
  hang_up,
  presses: [],
  answered_by: "human",
  patience_ms,
  ...more,
});

const answering: BehaviorFactory = (talk) => answers(talk);

const pressing = (...digits: readonly string[]): BehaviorFactory => {
  const presses = digits.map((digit, index) => ({ digit, after_ms: press_ms * (1 + index / 4) }));
  return (talk) => answers(talk, { presses });
};

const failing = (outcome: LegOutcome, cause: number, sip_status: number): BehaviorFactory => {
  const rings = outcome === "declined";
  const ending: Ending = { outcome, cause, sip_status, by: "far_end" };
  return () => ({
    kind: "fails",
    rings_ms: rings ? rings_ms : null,
    fails_ms: rings ? declines_ms : fails_ms,
    ending,
  });
};

/** By SIP status, which is also a three-digit extension. */
const failures: Readonly<Record<string, BehaviorFactory>> = {
  "404": failing("unallocated", 1, 404),
  "480": () => ({ kind: "rings", rings_ms }),
  "484": failing("invalid", 28, 484),
  "486": failing("busy", 17, 486),
  "503": failing("congestion", 34, 503),
  "603": failing("declined", 21, 603),
};

/** 700 to 709 press their last digit. */
const keys = Object.fromEntries("0123456789".split("").map((key) => [`70${key}`, pressing(key)]));

const behaviors: Readonly<Record<string, BehaviorFactory>> = {
  ...failures,
  ...keys,
  "020": () => ({
    kind: "refused",
    ending: { outcome: "unreachable", cause: 20, sip_status: null, by: "far_end" },
  }),
  "101": pressing("*", "1"),
  "205": (talk) => answers(talk, { answered_by: "machine" }),
  "209": pressing("9"),
  "800": () => ({
    kind: "fails",
    rings_ms,
    fails_ms: declines_ms,
    ending: { outcome: "no_answer", cause: 19, sip_status: 480, by: "far_end" },
    calls_back: true,
  }),
  "900": () => answers(null, { patience_ms: null }),
  "901": () => answers({ since: "answer", after_ms: 500 }),
  "902": () => answers({ since: "bridge", after_ms: agent_talks_ms }),
};

/**
 * Returns the behavior of a leg to `number`, in any format. A number that ends in 777 and a code behaves as
 * the code says; a three-digit number that is a SIP status of the table fails with it.
 */
export function behaviorOf(number: string, role: SandboxRole): LegBehavior {
  const digits = number.replaceAll(/\D/g, "");
  const code = /777(\d{3})$/.exec(digits)?.[1];
  const factory = code === undefined ? failures[digits] : behaviors[code];
  const talk: HangUp | null =
    role === "customer" ? { since: "bridge", after_ms: customer_talks_ms } : null;
  return (factory ?? answering)(talk);
}
