import { openShares } from "../shares.ts";

/**
 * What may read through all an account has (searches, exports, the audit trail) goes through here,
 * by account: some of the pool's connections, fewer of one account's, so that leads find one.
 */
export const searches = openShares(6, 2, 50);
