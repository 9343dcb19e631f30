// The same recipients for every contender.

/** Returns the i-th recipient's phone number in E.164 digits. */
export function phoneOf(i: number): string {
  return String(919_000_000_000 + i);
}

/** Returns the i-th recipient's variable. */
export function nameOf(i: number): string {
  return `Customer ${i}`;
}
