/** Returns whether an Accept header names CSV. */
export function acceptsCsv(accept: string | undefined): boolean {
  return accept !== undefined && /\btext\/csv\b/i.test(accept);
}
