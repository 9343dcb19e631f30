/** Business time. Leases and rate windows use the database's clock instead. */
export type Clock = { now(): Date };

export const systemClock: Clock = { now: () => new Date() };
