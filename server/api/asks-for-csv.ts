/** Whether an Accept header names CSV. */
export function asksForCsv(accept: string | undefined): boolean {
  return accept !== undefined && /\btext\/csv\b/i.test(accept);
}
