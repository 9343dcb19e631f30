import { unavailable } from "../errors.ts";
import { openShares } from "../shares.ts";

/**
 * Anyone can send requests that need a look-up, so these get few connections and a queue that ends in 503. The addresses
 * alternate: a flood from some delays a request of another by a few look-ups.
 */
const lookups_max = 2;
const lookups_of_address_max = 1;
const waiting_of_address_max = 100;
const waiting_max = 10_000;

/**
 * Opens a limit on look-ups for strangers; returns a function that runs one for an address group. It throws unavailable
 * when too many wait, in all or from the group; the error names `what` is looked up.
 */
export function openStrangerLookups(what: string) {
  const lookups = openShares<string>(lookups_max, lookups_of_address_max, waiting_of_address_max);
  let waiting = 0;
  return async <Answer>(group: string, lookUp: () => Promise<Answer>): Promise<Answer> => {
    if (waiting >= waiting_max) throw unavailable(new Error(`too many unknown ${what} wait`));
    waiting++;
    try {
      return await lookups.use(group, lookUp);
    } finally {
      waiting--;
    }
  };
}
