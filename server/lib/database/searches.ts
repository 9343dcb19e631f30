import { openShares } from "../shares.ts";

/**
 * Limits queries that may read everything an account has (searches, exports, the audit trail) to some of the
 * pool's connections, and fewer per account, so that lead creation always gets one.
 */
export const searches = openShares(6, 2, 50);
