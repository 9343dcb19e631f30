// Stops dialing for a campaign whose calls would be silent: its AI agent or a prompt is not available.
import type { Call } from "../../state-machine/call.ts";

const backoff_ms_min = 1_000;
const backoff_ms_max = 60_000;

/** A campaign pauses after so many failures in a row: while setting up calls, about ten minutes; on answered calls. */
const failures_max = { set_up: 15, answered: 5 } as const;

/** `set_up`: before the call was dialed; `answered`: before the AI agent's first word. */
export type ContentFailure = keyof typeof failures_max;

type Key = Pick<Call, "account_id" | "campaign_id">;

export type ContentGate = {
  /** Returns how many calls of the campaign may be claimed now: any number, one as a probe, or none. */
  readonly room: (campaign: Key) => number;
  /** Records a failure; returns the reason to pause the campaign, or null. */
  readonly failed: (campaign: Key, failure: ContentFailure, reason: string) => string | null;
  /** Records that a call was set up, or that its AI agent said a word. */
  readonly succeeded: (campaign: Key, at: ContentFailure) => void;
};

type State = {
  readonly failure: ContentFailure;
  readonly failures: number;
  readonly retry_at_ms: number;
  /** A probe is under way, whose failure counts. */
  isProbing: boolean;
};

/** Opens a gate that lets all campaigns through. */
export function openContentGate(now_ms: () => number): ContentGate {
  const closed = new Map<string, State>();
  const close = (key: string, failure: ContentFailure, failures: number, isProbing: boolean) => {
    const backoff_ms = Math.min(backoff_ms_max, backoff_ms_min * 2 ** (failures - 1));
    closed.set(key, { failure, failures, isProbing, retry_at_ms: now_ms() + backoff_ms });
  };
  return {
    room(campaign) {
      const state = closed.get(keyOf(campaign));
      if (!state) return Infinity;
      if (now_ms() < state.retry_at_ms) return 0;
      close(keyOf(campaign), state.failure, state.failures, true);
      return 1;
    },
    failed(campaign, failure, reason) {
      const key = keyOf(campaign);
      const state = closed.get(key);
      // Calls that were claimed together fail together, which counts once.
      if (state && !state.isProbing) return null;
      const failures = (state?.failures ?? 0) + 1;
      if (failures < failures_max[failure]) {
        close(key, failure, failures, false);
        return null;
      }
      closed.delete(key);
      return `${failures} attempts in a row failed, most recently: ${reason}`;
    },
    succeeded(campaign, at) {
      const key = keyOf(campaign);
      // A server that accepts sessions may still fail to talk.
      if (at === "answered" || closed.get(key)?.failure === at) closed.delete(key);
    },
  };
}

function keyOf({ account_id, campaign_id }: Key): string {
  return `${account_id}:${campaign_id}`;
}
