/** Starts a request and returns the promise of its end; null if it needs no connection any more. */
type Start = () => Promise<unknown> | null;

type Account = { in_use: number; readonly waiting: Start[] };

export type ConnectionShares = {
  /** Calls `start` once the business account may use one more connection, which is free again after the end. */
  request(business_account_id: string, start: Start): void;
};

/** How many times as many connections as are free an account may use. */
const free_factor = 8;

/**
 * Divides connections between business accounts. One alone may use eight ninths of them and each of two eight
 * seventeenths, so that some are free for the next account, however slow the requests of the others are. A connection
 * that becomes free goes to the waiting account that uses the fewest.
 */
export function openConnectionShares(connections_max: number): ConnectionShares {
  const accounts = new Map<string, Account>();
  const queue = new Set<Account>();
  let free = connections_max;

  const mayStart = ({ in_use }: Account) => in_use < free * free_factor;
  const use = (account: Account, start: Start) => {
    const ended = start();
    if (ended === null) return;
    account.in_use++;
    free--;
    const release = () => {
      account.in_use--;
      free++;
      startWaiting();
    };
    ended.then(release, release);
  };
  const startWaiting = () => {
    for (let next = leastServed(queue); next && mayStart(next); next = leastServed(queue)) {
      const start = next.waiting.shift()!;
      if (next.waiting.length === 0) queue.delete(next);
      use(next, start);
    }
  };
  return {
    request(business_account_id, start) {
      const account = accounts.get(business_account_id) ?? { in_use: 0, waiting: [] };
      accounts.set(business_account_id, account);
      if (mayStart(account)) return use(account, start);
      account.waiting.push(start);
      queue.add(account);
    },
  };
}

function leastServed(accounts: Iterable<Account>): Account | undefined {
  let least: Account | undefined;
  for (const account of accounts) if (!least || account.in_use < least.in_use) least = account;
  return least;
}
