/** Resolves with the promise, or after `ms` at the latest. */
export async function settledWithin(promise: Promise<void>, ms: number): Promise<void> {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, Math.max(0, ms));
  await Promise.race([promise, over]);
  clearTimeout(timer);
}
