import { openShares } from "../shares.ts";

/** Two CSV files are parsed at once in a process, one of an account; the others wait their turn. */
export const csvParsing = openShares(2, 1, 16);
