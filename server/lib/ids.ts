/**
 * Returns an external ID as a query parameter. IDs are below 2^53, so a larger one does not exist and becomes 0,
 * which no row has.
 */
export function knownId(id: number): number {
  return Number.isSafeInteger(id) ? id : 0;
}
