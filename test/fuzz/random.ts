/** A source of random choices that a seed makes repeatable. */
export type Random = {
  /** A whole number from 0 below `limit`. */
  below(limit: number): number;
  /** True once in `n` times, on average. */
  oneIn(n: number): boolean;
  pick<T>(items: readonly T[]): T;
};

/** Creates a Mulberry32 generator: small, fast and good enough for choices. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number) => Math.floor(next() * limit);
  return {
    below,
    oneIn: (n) => below(n) === 0,
    pick: (items) => items[below(items.length)]!,
  };
}
