// The same recipients for every contender.

/** Of the i-th recipient: E.164 digits. */
export function phoneOf(i: number): string {
  return String(919_000_000_000 + i);
}

/** The i-th recipient's one variable. */
export function nameOf(i: number): string {
  return `Customer ${i}`;
}
