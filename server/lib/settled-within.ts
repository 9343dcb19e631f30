/** Resolves with the promise, at the latest after so long. */
export async function settledWithin(promise: Promise<void>, ms: number): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.max(0, ms));
  await Promise.race([promise, over]);
  clearTimeout(timer);
}
