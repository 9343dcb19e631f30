// Maps a provider's error to an action: whether and when the message is retried, and the effect on its
// campaign, number or account. Source: WhatsApp Cloud API, "Errors".
import type { ChatSendError, Outgoing } from "../../drivers/chat/driver.ts";

/** The effect on the recipient, its campaign, number or business account, and on the circuit breaker. */
export type Action = {
  readonly state: "deferred" | "refused" | "unknown";
  /** Our error name, as the API shows it. */
  readonly error: string;
  /** For a deferred recipient: the delay before the retry. */
  readonly after_ms: number;
  /** How long the number pauses. */
  readonly slow_ms?: number;
  readonly hold?: {
    /** `business_account`: each number of it. No error holds the account, which may have other numbers. */
    readonly scope: "template" | "number" | "business_account";
    readonly reason: "template_paused" | "sender_restricted" | "auth" | "throttled";
    /** The hold ends by itself after this time. */
    readonly for_ms?: number;
  };
  readonly fail_campaign?: true;
  /** The customer has opted out. */
  readonly suppress?: true;
  /** This campaign's messages must take the provider's marketing route. */
  readonly marketing_route?: true;
  /** Our category of the template may be old. */
  readonly refresh_templates?: true;
  /** The reason is this recipient's alone: the circuit breaker does not count the failure. */
  readonly recipient_side?: true;
};

type Rule = (attempt: number, random: number) => Action;

const second_ms = 1_000;
const minute_ms = 60_000;
const day_ms = 86_400_000;
/** Maximum attempts for errors to retry soon and for errors to retry after a day. */
const transient_attempts_max = 8;
const daily_attempts_max = 3;
/** A longer pause is a hold, which everyone sees and the next sender keeps. */
const pause_ms_max = 30_000;
/** The pause until such a hold is stored. */
const until_held_ms = second_ms;

/** Doubles with each attempt up to `most_ms`, plus random jitter of up to the same length. */
function backoff(base_ms: number, attempt: number, random: number, most_ms: number): number {
  return Math.min(base_ms * 2 ** (attempt - 1), most_ms) * (1 + random);
}

const refuse =
  (error: string): Rule =>
  () => ({ state: "refused", error, after_ms: 0 });

const refuseRecipient =
  (error: string): Rule =>
  () => ({ state: "refused", error, after_ms: 0, recipient_side: true });

const transient: Rule = (attempt, random) =>
  attempt >= transient_attempts_max
    ? { state: "refused", error: "provider_error", after_ms: 0 }
    : {
        state: "deferred",
        error: "provider_error",
        after_ms: backoff(second_ms, attempt, random, 5 * minute_ms),
      };

const pairLimit: Rule = (attempt, random) =>
  attempt >= transient_attempts_max
    ? { state: "refused", error: "pair_limited", after_ms: 0, recipient_side: true }
    : {
        state: "deferred",
        error: "pair_limited",
        after_ms: backoff(6 * second_ms, attempt, random, 10 * minute_ms),
      };

const retryNextDay: Rule = (attempt) =>
  attempt >= daily_attempts_max
    ? { state: "refused", error: "frequency_capped", after_ms: 0, recipient_side: true }
    : { state: "deferred", error: "frequency_capped", after_ms: day_ms };

const holding =
  (
    scope: "template" | "number" | "business_account",
    reason: "template_paused" | "sender_restricted" | "auth",
  ): Rule =>
  () => ({ state: "deferred", error: reason, after_ms: 0, hold: { scope, reason } });

/** A pause of the number for this long: in the sender if it is short, otherwise a hold. */
function throttle(for_ms: number): Action {
  const action = { state: "deferred", error: "throttled", after_ms: for_ms } as const;
  if (for_ms <= pause_ms_max) return { ...action, slow_ms: for_ms };
  return {
    ...action,
    slow_ms: until_held_ms,
    hold: { scope: "number", reason: "throttled", for_ms },
  };
}

/** Reported by a status: in a response, the driver names the pause. */
const overRate: Rule = (attempt, random) => ({
  state: "deferred",
  error: "throttled",
  after_ms: backoff(5 * second_ms, Math.min(attempt, 8), random, 5 * minute_ms),
});
/** The provider upgrades the number's throughput, which takes up to a minute. */
const upgrading: Rule = (_, random) => throttle(minute_ms + random * second_ms);

const restrictedNumber = holding("number", "sender_restricted");
const restrictedAccount = holding("business_account", "sender_restricted");
const unauthorized = holding("business_account", "auth");
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
  recipient_side: true,
});
const wrongRow = refuse("invalid_parameter");
const retryMediaOnce: Rule = (attempt) =>
  attempt >= 2
    ? { state: "refused", error: "media_failed", after_ms: 0 }
    : { state: "deferred", error: "media_failed", after_ms: 5 * second_ms };
const not_ready_attempts_max = 3;
/** The marketing route prepares a new or dormant template for up to 10 minutes. */
const whilePreparing =
  (final: Rule): Rule =>
  (attempt, random) =>
    attempt > not_ready_attempts_max
      ? final(attempt, random)
      : {
          state: "deferred",
          error: "template_not_ready",
          after_ms: (10 + random) * minute_ms,
        };
const preparing = whilePreparing(refuse("template_not_ready"));
/** Meanwhile, the route may also report an invalid parameter. */
const invalidWhilePreparing = whilePreparing(wrongRow);
/** The marketing route takes marketing templates only. Once we know the new category, the message takes the
 * other one, unless the provider required this one since. */
const otherCategory: Rule = (attempt, random) =>
  attempt > not_ready_attempts_max
    ? { state: "refused", error: "template_not_marketing", after_ms: 0 }
    : {
        state: "deferred",
        error: "template_not_marketing",
        after_ms: (10 + random) * minute_ms,
        refresh_templates: true,
      };
const otherRoute: Rule = (attempt) =>
  attempt >= 2
    ? { state: "refused", error: "marketing_route_required", after_ms: 0 }
    : {
        state: "deferred",
        error: "marketing_route_required",
        after_ms: 0,
        marketing_route: true,
        refresh_templates: true,
      };

const rules: ReadonlyMap<number, Rule> = new Map<number, Rule>([
  ...each([1, 2, 131000, 131016, 133004], transient),
  ...each([4, 80007, 130429], overRate),
  [131057, upgrading],
  [131056, pairLimit],
  [131049, retryNextDay],
  ...each([131026, 131062, 137000, 130497], refuseRecipient("undeliverable")),
  [131050, optedOut],
  [131021, refuseRecipient("same_number")],
  [131030, refuse("not_allowed_recipient")],
  [130472, refuseRecipient("experiment_group")],
  ...each([33, 131037, 131045, 131048, 131064, 133006, 133010], restrictedNumber),
  ...each([368, 131031, 131042], restrictedAccount),
  ...each([190, 0, 3, 10, 131005], unauthorized),
  ...each(
    Array.from({ length: 100 }, (_, i) => 200 + i),
    unauthorized,
  ),
  ...each([132001, 132007, 132016], failing),
  [132015, paused],
  // 135000 is "an unknown error with your request parameters": the same request fails again.
  ...each([132000, 132005, 132008, 132012, 131008, 131009, 100, 131051, 135000], wrongRow),
  [131053, retryMediaOnce],
  [131047, refuseRecipient("outside_window")],
  [131063, otherRoute],
  [134101, preparing],
  ...each([131055, 134100], otherCategory),
]);

/**
 * Codes with which the provider declines to deliver a message at all. Only these are retried when a
 * delivery status reports them: after others, such as 131026 or 131000, the message may still have
 * reached one of the customer's devices.
 */
const never_delivered: ReadonlySet<number> = new Set([
  4, 80007, 130429, 131056, 131057, 131049, 33, 131037, 131045, 131048, 131064, 133006, 133010, 368,
  131031, 131042, 132015, 131063,
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
export function decideAction(
  failure: ChatSendError,
  before: Before,
  random: number,
  route: Outgoing["route"] = "standard",
): Action {
  const attempt = (error: string) => 1 + (before.error === error ? before.attempts : 0);
  switch (failure.failure) {
    case "unknown": {
      const slow_ms = failure.retry_after_ms;
      const action = { state: "unknown", error: "outcome_unknown", after_ms: 0 } as const;
      return slow_ms === null ? action : { ...action, slow_ms };
    }
    case "throttled":
      return throttle(failure.retry_after_ms ?? backoff(second_ms, 1, random, second_ms));
    case "late":
      return { state: "deferred", error: "unreachable", after_ms: 0 };
    case "unreachable": {
      // No request reached the provider, so retries continue for as long as it is unreachable.
      const tried = Math.min(attempt("unreachable"), 6);
      const slow_ms = backoff(second_ms, tried, random, 30 * second_ms);
      return { state: "deferred", error: "unreachable", after_ms: slow_ms, slow_ms };
    }
    case "rejected":
      if (failure.code === 131009 && route === "marketing")
        return invalidWhilePreparing(attempt("template_not_ready"), random);
      return ruleOf(failure.code)(attempt(errorName(failure.code)), random);
  }
}

/**
 * Returns the action for a failure that a delivery status reports after the provider accepted the
 * message: the same as for its response, except that the message is retried only if the code says
 * that it was delivered to no device.
 */
export function decideReportedAction(code: number | null, before: Before, random: number): Action {
  const error = errorName(code);
  const attempt = 1 + (before.error === error ? before.attempts : 0);
  const action = ruleOf(code)(attempt, random);
  const isFinal = code === null || !never_delivered.has(code);
  return isFinal ? { ...action, state: "refused" } : action;
}

function ruleOf(code: number | null): Rule {
  return rules.get(code ?? -1) ?? refuse("provider_error");
}
