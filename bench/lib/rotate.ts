/** Rotates the list by `by` items, so that each round of a benchmark starts with a different contender. */
export function rotate<T>(list: readonly T[], by: number): T[] {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}
