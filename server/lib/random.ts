/** Returns a number in [0, 1). Keys and ids come from node:crypto instead. */
export type Random = () => number;

// oxlint-disable-next-line no-restricted-properties -- The only source of randomness that is passed in.
export const systemRandom: Random = Math.random;
