/**
 * An id from outside, as a parameter: our ids are below 2^53, so one beyond is simply unknown,
 * and 0 is an id nothing has.
 */
export function knownId(id: number): number {
  return Number.isSafeInteger(id) ? id : 0;
}
