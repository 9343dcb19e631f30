// The error-rate breaker: a campaign whose last messages mostly fail is paused before it burns the
// number's standing and the audience's patience.

/** How many attempts are looked back at, and how few are too few to validate by. */
const window_attempts = 200;
const attempts_min = 50;

/** What a campaign's counts say at one moment, since its beginning. */
export type Tally = { readonly ended: number; readonly failed: number };

export type Breaker = {
  /** Takes the next tally; the share of failures (percent) among the last attempts when it is too high, else null. */
  validate(tally: Tally): number | null;
};

/** Starts from the first tally it is given: what happened before a resume does not count again. */
export function openBreaker(error_percent: number): Breaker {
  const tallies: Tally[] = [];
  return {
    validate(tally) {
      tallies.push(tally);
      // The oldest kept is the youngest that lies a full window back.
      while (tallies.length > 2 && tally.ended - tallies[1]!.ended >= window_attempts)
        tallies.shift();
      const attempts = tally.ended - tallies[0]!.ended;
      if (attempts < attempts_min) return null;
      const percent = ((tally.failed - tallies[0]!.failed) * 100) / attempts;
      return percent >= error_percent ? percent : null;
    },
  };
}
