/** Returns the known name that a misspelled name most likely means, or null. */
export function closestName(name: string, known: readonly string[]): string | null {
  if (name.length > 64) return null;
  const simple = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
  const ranked = known
    .map((candidate) => ({ candidate, distance: distance(simple(name), simple(candidate)) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  return best && best.distance <= Math.max(1, Math.floor(name.length / 4)) ? best.candidate : null;
}

/** Computes the Levenshtein distance, one row at a time. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const swap = row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(swap, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[b.length]!;
}
