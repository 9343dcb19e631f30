// Limits the rate of new legs: a token bucket with priority for customers' legs, for which an agent waits.

export type LegRate = {
  /** Resolves when a leg may begin; urgent legs go before all others. */
  acquire(isUrgent: boolean): Promise<void>;
  /** Returns how many new calls could begin now. */
  room(): number;
  /** Returns in how many ms a new call could begin, unless another comes first; 0: now. */
  nextInMs(): number;
  setRate(per_second: number): void;
  /** Admits no further leg. */
  stop(): void;
};

/** Opens a limiter without tokens, because the previous node leader may have just used them. */
export function openLegRate(per_second: number, now_ms: () => number): LegRate {
  let rate = per_second;
  let tokens = 0;
  let filled_ms = now_ms();
  let timer: NodeJS.Timeout | null = null;
  let stopped = false;
  const urgent: (() => void)[] = [];
  const others: (() => void)[] = [];

  const fill = () => {
    const at = now_ms();
    tokens = Math.min(burst(rate), tokens + ((at - filled_ms) * rate) / 1_000);
    filled_ms = at;
  };
  const serve = () => {
    timer = null;
    fill();
    while (tokens >= 1) {
      const next = urgent.shift() ?? others.shift();
      if (!next) return;
      tokens -= 1;
      next();
    }
    if (!stopped && urgent.length + others.length > 0)
      timer = setTimeout(serve, Math.ceil(((1 - tokens) * 1_000) / rate));
  };
  return {
    async acquire(isUrgent) {
      const { promise, resolve } = Promise.withResolvers<void>();
      (isUrgent ? urgent : others).push(resolve);
      if (!timer) serve();
      await promise;
    },
    room() {
      fill();
      return Math.max(0, Math.floor(tokens) - urgent.length - others.length);
    },
    nextInMs() {
      fill();
      const lacking = 1 + urgent.length + others.length - tokens;
      return Math.max(0, Math.ceil((lacking * 1_000) / rate));
    },
    setRate(next) {
      fill();
      rate = next;
    },
    stop() {
      stopped = true;
      if (timer) clearTimeout(timer);
    },
  };
}

/** The tokens of a fifth of a second, at least one. */
function burst(rate: number): number {
  return Math.max(1, rate / 5);
}
