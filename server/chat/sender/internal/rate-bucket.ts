// The token bucket of one number: it holds at most 50 ms of tokens, so that no second exceeds the
// rate by more than one such portion.

/** How long a full portion takes to fill: the largest batch. */
const portion_ms = 50;

export type RateBucket = {
  /**
   * Whole messages that may be sent now; empty at the start, because the previous holder may just
   * have sent.
   */
  available(): number;
  spend(messages: number): void;
  /** Milliseconds until the bucket is full, at most until the end of a pause. */
  fullInMs(): number;
  /** Changes the rate and keeps the tokens. */
  setRate(per_second: number): void;
  /** Stops sending for this long, as the provider requested. */
  pause(ms: number): void;
};

/** `now_ms` is a monotonic clock. */
export function openRateBucket(rate_per_second: number, now_ms: () => number): RateBucket {
  let rate = rate_per_second;
  let tokens = 0;
  let counted_at = now_ms();

  const most = () => Math.max(1, (rate * portion_ms) / 1_000);
  const flow = () => {
    const now = now_ms();
    // A pause moves counted_at into the future.
    if (now <= counted_at) return;
    tokens = Math.min(most(), tokens + ((now - counted_at) * rate) / 1_000);
    counted_at = now;
  };

  return {
    available() {
      flow();
      return Math.floor(tokens + 1e-9);
    },
    spend(messages) {
      tokens -= messages;
    },
    fullInMs() {
      flow();
      const waits_ms = Math.max(0, counted_at - now_ms());
      return waits_ms + Math.max(0, ((Math.floor(most()) - tokens) * 1_000) / rate);
    },
    setRate(per_second) {
      flow();
      rate = per_second;
      tokens = Math.min(tokens, most());
    },
    pause(ms) {
      tokens = 0;
      counted_at = Math.max(counted_at, now_ms() + ms);
    },
  };
}
