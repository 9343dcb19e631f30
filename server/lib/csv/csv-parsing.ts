import { openShares } from "../shares.ts";

/** At most two CSV files are parsed at once in a process, one per account; others wait. */
export const csvParsing = openShares(2, 1, 16);
