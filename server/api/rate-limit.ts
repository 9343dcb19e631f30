// Limits how many requests a minute an account may send to an endpoint: exact across processes, as
// the window is a row that every request counts in before its body is read.
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../accounts/caller.ts";
import { statement, type Database } from "../lib/database/database.ts";
import { Refusal } from "../lib/errors.ts";
import { openShares } from "../lib/shares.ts";

export type RateLimit = {
  /** Names the window; routes of one name share it. */
  readonly endpoint: string;
  readonly limit_a_minute: (account: Caller["account"]) => number;
  /** What callers are told whom we do not know. */
  readonly default_limit: number;
};

export type RateCounter = {
  /** Counts the request and puts the window's figures on its answer; `rate-limited` beyond the limit. */
  count(limit: RateLimit, request: FastifyRequest, reply: FastifyReply): Promise<void>;
};

const window_seconds = 60;

/** The requests of one account queue for its row anyway: here they do so without a connection each. */
const counting_at_once_max = 4;
const counting_of_account_max = 1;
const counting_waiting_max = 1_000;

// A window that began in the future was written before the database's clock was put back.
const goes_on = `w.began_at > excluded.began_at - interval '${window_seconds} seconds'
    and w.began_at < excluded.began_at + interval '${window_seconds} seconds'`;

// A statement of its own, so that the row is locked no longer than it takes.
const countRequest = statement<{ count: number; reset_seconds: number }>(`
  insert into rate_windows as w (account_id, endpoint, began_at, count) values ($1, $2, now(), 1)
  on conflict (account_id, endpoint) do update set
    began_at = case when ${goes_on} then w.began_at else excluded.began_at end,
    count = case when ${goes_on} then w.count + 1 else 1 end
  returning count, ceil(extract(epoch from
    began_at + interval '${window_seconds} seconds' - now()))::int as reset_seconds`);

export function openRateCounter(db: Database): RateCounter {
  const counting = openShares(counting_at_once_max, counting_of_account_max, counting_waiting_max);
  return {
    async count({ endpoint, limit_a_minute }, request, reply) {
      const { account } = request.caller!;
      const limit = limit_a_minute(account);
      const [row] = await counting.use(account.id, () =>
        countRequest(db.pool, [account.id, endpoint]),
      );
      const reset = Math.min(Math.max(row!.reset_seconds, 1), window_seconds);
      tell(request, reply, { limit, remaining: Math.max(limit - row!.count, 0), reset });
      if (row!.count <= limit) return;
      throw new Refusal(
        "rate-limited",
        `This account may send ${limit} of these requests a minute; try again in ${reset} s`,
        { headers: { "retry-after": String(reset) } },
      );
    },
  };
}

/** Puts the figures of a window that nobody has counted in on the answer. */
export function tellDefaultRate(
  { default_limit: limit }: RateLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  tell(request, reply, { limit, remaining: limit, reset: window_seconds });
}

type Figures = { readonly limit: number; readonly remaining: number; readonly reset: number };
type RateHeaders = Readonly<Record<string, string>>;

/** For answers that HTTP itself gives in the middle of a request. */
const told = new WeakMap<Socket, RateHeaders>();

function tell(request: FastifyRequest, reply: FastifyReply, figures: Figures): void {
  const headers = {
    "ratelimit-limit": String(figures.limit),
    "ratelimit-remaining": String(figures.remaining),
    "ratelimit-reset": String(figures.reset),
  };
  void reply.headers(headers);
  told.set(request.raw.socket, headers);
}

/** The figures told to the request that is under way on a connection. */
export function rateHeadersOn(socket: Socket): RateHeaders {
  return told.get(socket) ?? {};
}

/** The next request on the connection may be one without a limit. */
export function forgetRate(request: FastifyRequest): void {
  told.delete(request.raw.socket);
}
