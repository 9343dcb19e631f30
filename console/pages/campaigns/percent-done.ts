/** The share of recipients with an outcome in whole percent, rounded down, so that 100 means all. */
export function percentDone(total: number, pending: number): number {
  return total === 0 ? 100 : Math.floor(((total - pending) / total) * 100);
}
