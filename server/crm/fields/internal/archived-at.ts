/**
 * Returns when an option or a custom field was archived, after a change of `archived`. To archive it again gives it a later
 * time, by which a deletion that archived it sees that it must not restore it.
 */
export function archivedAt(before: Date | null, archived: boolean, now: Date): Date | null {
  if (!archived) return null;
  return before !== null && before >= now ? new Date(before.getTime() + 1) : now;
}
