// The circuit breaker: pauses a campaign whose last messages mostly fail, before it harms the
// number's quality rating.

/** The window of attempts, and the fewest attempts that can trip the breaker. */
const window_attempts = 200;
const attempts_min = 50;

/** A campaign's counts since its start. */
export type Tally = {
  readonly ended: number;
  readonly failed: number;
  /** Attempts whose delivery status arrived; a delayed one is about an earlier attempt. */
  readonly reported: number;
};

export type Breaker = {
  /**
   * Takes the next counts; returns the failure rate (percent) in the window when it is at least `error_percent`, else
   * null.
   */
  checkFailureRate(tally: Tally, error_percent: number): number | null;
};

/** Starts from the first counts: failures before a resume do not count. */
export function openBreaker(): Breaker {
  const tallies: Tally[] = [];
  return {
    checkFailureRate(tally, error_percent) {
      // Retried recipients no longer count: without this, as many attempts would go unnoticed.
      if (tallies.length > 0 && tally.ended < tallies.at(-1)!.ended) tallies.length = 0;
      // Without new attempts it replaces the last entry, because a campaign may wait for days. The first one stays: it is
      // what later failures are measured from.
      if (tallies.length > 1 && tally.ended === tallies.at(-1)!.ended) tallies.pop();
      tallies.push(tally);
      // The oldest entry kept is the newest that is a full window back.
      while (tallies.length > 2 && tally.ended - tallies[1]!.ended >= window_attempts)
        tallies.shift();
      const attempts = tally.ended - tallies[0]!.ended;
      if (attempts < attempts_min) return null;
      // Statuses that were delayed arrive together: their failures are a share of all of them.
      const outcomes = Math.max(attempts, tally.reported - tallies[0]!.reported);
      const percent = Math.min(100, ((tally.failed - tallies[0]!.failed) * 100) / outcomes);
      return percent >= error_percent ? percent : null;
    },
  };
}
