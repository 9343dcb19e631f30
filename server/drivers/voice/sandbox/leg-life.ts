// Who answers in the sandbox, and how: told by the number alone (docs/guides/sandbox.md has the table).
import type { AnsweredBy, Ending, LegOutcome } from "../driver.ts";

/** Times count from the dial, but for those in a bridge. */
export type LegLife =
  /** The switch does not take the dial. */
  | { readonly kind: "refused"; readonly ending: Ending }
  /** `rings_ms` null: it never rings. */
  | {
      readonly kind: "fails";
      readonly rings_ms: number | null;
      readonly fails_ms: number;
      readonly ending: Ending;
    }
  /** Until it is given up. */
  | { readonly kind: "rings"; readonly rings_ms: number }
  | {
      readonly kind: "answers";
      readonly rings_ms: number;
      readonly answers_ms: number;
      /** Null: it stays until it is hung up. */
      readonly leaves: Leaving | null;
      /** Each key once, so long after somebody is there to hear it. */
      readonly presses: readonly Press[];
      readonly answered_by: AnsweredBy;
      /** So long it hears nothing of a service that it talks to, before it hangs up; null: it never does. */
      readonly patience_ms: number | null;
    };

export type Press = { readonly digit: string; readonly after_ms: number };

/** When it hangs up: so long after its own answer, or after it is in a bridge with somebody. */
export type Leaving = { readonly since: "answer" | "bridge"; readonly after_ms: number };

/**
 * The customer is whoever is called over a trunk while another leg of the call is up already, and
 * whoever something is played or said to.
 */
export type SandboxRole = "agent" | "customer";

const rings_ms = 200;
const answers_ms = 700;
const fails_ms = 500;
const declines_ms = 1_500;
const talks_ms = 5_000;
const agent_talks_ms = 2_000;
const press_ms = 1_000;
const patience_ms = 5_000;

type Steering = (talk: Leaving | null) => LegLife;

type Answering = Extract<LegLife, { kind: "answers" }>;

const answers = (leaves: Leaving | null, more: Partial<Answering> = {}): Answering => ({
  kind: "answers",
  rings_ms,
  answers_ms,
  leaves,
  presses: [],
  answered_by: "human",
  patience_ms,
  ...more,
});

const answering: Steering = (leaves) => answers(leaves);

const pressing = (...digits: readonly string[]): Steering => {
  const presses = digits.map((digit, index) => ({ digit, after_ms: press_ms * (1 + index / 4) }));
  return (leaves) => answers(leaves, { presses });
};

const failing = (outcome: LegOutcome, cause: number, sip_status: number): Steering => {
  const rings = outcome === "declined";
  const ending: Ending = { outcome, cause, sip_status, by: "far_end" };
  return () => ({
    kind: "fails",
    rings_ms: rings ? rings_ms : null,
    fails_ms: rings ? declines_ms : fails_ms,
    ending,
  });
};

/** SIP statuses; also the extensions of these three digits. */
const failures: Readonly<Record<string, Steering>> = {
  "404": failing("unallocated", 1, 404),
  "480": () => ({ kind: "rings", rings_ms }),
  "484": failing("invalid", 28, 484),
  "486": failing("busy", 17, 486),
  "503": failing("congestion", 34, 503),
  "603": failing("declined", 21, 603),
};

const steerings: Readonly<Record<string, Steering>> = {
  ...failures,
  "020": () => ({
    kind: "refused",
    ending: { outcome: "unreachable", cause: 20, sip_status: null, by: "far_end" },
  }),
  "101": pressing("*", "1"),
  "205": (leaves) => answers(leaves, { answered_by: "machine" }),
  "209": pressing("9"),
  "701": pressing("1"),
  "900": () => answers(null, { patience_ms: null }),
  "901": () => answers({ since: "answer", after_ms: 500 }),
  "902": () => answers({ since: "bridge", after_ms: agent_talks_ms }),
};

/**
 * The life of a leg to `number`, in whatever form it was dialled: its last six digits steer it when
 * they are 777 and a code; three digits alone when they are a SIP status of the table.
 */
export function legLife(number: string, role: SandboxRole): LegLife {
  const digits = number.replaceAll(/\D/g, "");
  const code = /777(\d{3})$/.exec(digits)?.[1];
  const steering = code === undefined ? failures[digits] : steerings[code];
  const talk: Leaving | null = role === "customer" ? { since: "bridge", after_ms: talks_ms } : null;
  return (steering ?? answering)(talk);
}
