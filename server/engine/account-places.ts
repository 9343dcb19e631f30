/** How many workers each account has at once in this process. */
export type AccountPlaces = {
  add(account_id: number, change: 1 | -1): void;
  isFull(account_id: number): boolean;
  /** The accounts that have all their places. */
  full(): number[];
};

/** Counts the workers of each account, of at most `max`. */
export function openAccountPlaces(max = Infinity): AccountPlaces {
  const counts = new Map<number, number>();
  const isFull = (account_id: number) => (counts.get(account_id) ?? 0) >= max;
  return {
    add(account_id, change) {
      const count = (counts.get(account_id) ?? 0) + change;
      if (count > 0) counts.set(account_id, count);
      else counts.delete(account_id);
    },
    isFull,
    full: () => [...counts.keys()].filter(isFull),
  };
}
