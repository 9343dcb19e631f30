// Maps a provider's error to an action: whether and when the message is retried, and the effect on its
// campaign, number or account. Source: WhatsApp Cloud API, "Errors".
import type { ChatSendError } from "../../drivers/chat/driver.ts";

/** The effect on the recipient, its campaign, number or account. */
export type Action = {
  readonly state: "deferred" | "refused" | "unknown";
  /** Our error name, as the API shows it. */
  readonly error: string;
  /** For a deferred recipient: the delay before the retry. */
  readonly after_ms: number;
  /** How long the number pauses. */
  readonly slow_ms?: number;
  readonly hold?: {
    readonly scope: "template" | "number" | "account";
    readonly reason: "template_paused" | "sender_restricted" | "auth";
  };
  readonly fail_campaign?: true;
  /** The customer has opted out. */
  readonly suppress?: true;
  /** This campaign's messages must take the provider's marketing route. */
  readonly marketing_route?: true;
};

type Rule = (attempt: number, random: number) => Action;

const second_ms = 1_000;
const day_ms = 86_400_000;
/** Maximum attempts for errors to retry soon and for errors to retry after a day. */
const transient_attempts_max = 8;
const daily_attempts_max = 3;

/** Doubles with each attempt up to `most_ms`, plus random jitter of up to the same length. */
function backoff(base_ms: number, attempt: number, random: number, most_ms: number): number {
  return Math.min(base_ms * 2 ** (attempt - 1), most_ms) * (1 + random);
}

const refuse =
  (error: string): Rule =>
  () => ({ state: "refused", error, after_ms: 0 });

const transient: Rule = (attempt, random) =>
  attempt >= transient_attempts_max
    ? { state: "refused", error: "provider_error", after_ms: 0 }
    : {
        state: "deferred",
        error: "provider_error",
        after_ms: backoff(second_ms, attempt, random, 5 * 60 * second_ms),
      };

const pairLimit: Rule = (attempt, random) =>
  attempt >= transient_attempts_max
    ? { state: "refused", error: "pair_limited", after_ms: 0 }
    : {
        state: "deferred",
        error: "pair_limited",
        after_ms: backoff(6 * second_ms, attempt, random, 10 * 60 * second_ms),
      };

const tomorrow: Rule = (attempt) =>
  attempt >= daily_attempts_max
    ? { state: "refused", error: "frequency_capped", after_ms: 0 }
    : { state: "deferred", error: "frequency_capped", after_ms: day_ms };

const holding =
  (scope: "template" | "number" | "account", error: NonNullable<Action["hold"]>["reason"]): Rule =>
  () => ({ state: "deferred", error, after_ms: 0, hold: { scope, reason: error } });

const restricted = holding("number", "sender_restricted");
const unauthorized = holding("account", "auth");
const paused = holding("template", "template_paused");
const failing: Rule = () => ({
  state: "refused",
  error: "template_unusable",
  after_ms: 0,
  fail_campaign: true,
});
const optedOut: Rule = () => ({
  state: "refused",
  error: "opted_out",
  after_ms: 0,
  suppress: true,
});
const wrongRow = refuse("invalid_parameter");
const mediaOnceMore: Rule = (attempt) =>
  attempt >= 2
    ? { state: "refused", error: "media_failed", after_ms: 0 }
    : { state: "deferred", error: "media_failed", after_ms: 5 * second_ms };
const otherRoute: Rule = (attempt) =>
  attempt >= 2
    ? { state: "refused", error: "marketing_route_required", after_ms: 0 }
    : {
        state: "deferred",
        error: "marketing_route_required",
        after_ms: 0,
        marketing_route: true,
      };

const rules: ReadonlyMap<number, Rule> = new Map<number, Rule>([
  ...each([1, 2, 131000, 131016, 135000], transient),
  [131056, pairLimit],
  [131049, tomorrow],
  [131026, refuse("undeliverable")],
  [131050, optedOut],
  [131021, refuse("same_number")],
  [131030, refuse("not_allowed_recipient")],
  [131062, refuse("undeliverable")],
  [130472, refuse("experiment_group")],
  [137000, refuse("undeliverable")],
  ...each([131048, 131064, 131045, 131037, 131057], restricted),
  ...each([190, 0, 3, 10, 131005, 368, 131031, 131042], unauthorized),
  ...each(
    Array.from({ length: 100 }, (_, i) => 200 + i),
    unauthorized,
  ),
  ...each([132001, 132007, 132016], failing),
  [132015, paused],
  ...each([132000, 132005, 132008, 132012, 131008, 131009, 100, 131051], wrongRow),
  [131053, mediaOnceMore],
  [131047, refuse("outside_window")],
  [131063, otherRoute],
]);

function each(codes: readonly number[], rule: Rule): [number, Rule][] {
  return codes.map((code) => [code, rule]);
}

/** Returns our error name for a provider's code, as in a failed status. */
export function errorName(code: number | null): string {
  return (code === null ? undefined : rules.get(code)?.(Infinity, 0))?.error ?? "provider_error";
}

/** The error that last deferred the recipient, and its number of consecutive occurrences. */
export type Before = { readonly error: string | null; readonly attempts: number };

/**
 * Returns the action for a failed attempt. Attempts are counted per error, so throttling does not use up
 * the retries of another error. An unknown code is final, because a retry could send the message twice.
 * `random` is in [0, 1).
 */
export function decideAction(failure: ChatSendError, before: Before, random: number): Action {
  const attempt = (error: string) => 1 + (before.error === error ? before.attempts : 0);
  switch (failure.failure) {
    case "unknown":
      return { state: "unknown", error: "outcome_unknown", after_ms: 0 };
    case "throttled": {
      const slow_ms = failure.retry_after_ms ?? backoff(second_ms, 1, random, second_ms);
      return { state: "deferred", error: "throttled", after_ms: slow_ms, slow_ms };
    }
    case "unreachable": {
      // No request reached the provider, so retries continue for as long as it is unreachable.
      const tried = Math.min(attempt("unreachable"), 6);
      const slow_ms = backoff(second_ms, tried, random, 30 * second_ms);
      return { state: "deferred", error: "unreachable", after_ms: slow_ms, slow_ms };
    }
    case "rejected": {
      const rule = rules.get(failure.code ?? -1) ?? refuse("provider_error");
      return rule(attempt(errorName(failure.code)), random);
    }
  }
}
