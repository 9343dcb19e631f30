/** The list from its `by`th item on, then the items before: each round of a bench starts with another contender. */
export function rotate<T>(list: readonly T[], by: number): T[] {
  const first = by % list.length;
  return [...list.slice(first), ...list.slice(0, first)];
}
