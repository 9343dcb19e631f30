// Limits how many requests a minute an account may send to an endpoint. Exact across processes: every request
// is counted in the window's row before its body is read.
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../accounts/caller.ts";
import { statement, type Database } from "../../lib/database/database.ts";
import { Refusal } from "../../lib/errors.ts";
import { openShares } from "../../lib/shares.ts";

export type RateLimit = {
  /** The name of the window; routes with the same name share it. */
  readonly endpoint: string;
  readonly limit_a_minute: (account: Caller["account"]) => number;
  /** The limit reported to requests that are not authenticated. */
  readonly default_limit: number;
};

export type RateCounter = {
  /** Counts the request and sets the RateLimit headers of its answer; `rate-limited` beyond the limit. */
  count(limit: RateLimit, request: FastifyRequest, reply: FastifyReply): Promise<void>;
};

const window_seconds = 60;

/** Requests of one account wait for its row anyway: here they wait without holding a connection. */
const counting_at_once_max = 4;
const counting_of_account_max = 1;
const counting_waiting_max = 1_000;

// A window that began in the future was written before the database's clock was set back.
const is_current = `w.began_at - excluded.began_at > interval '-${window_seconds} seconds'
    and w.began_at - excluded.began_at < interval '${window_seconds} seconds'`;

// A statement of its own, so that the row is locked only while it runs.
const countRequest = statement<{ count: number; reset_seconds: number }>(`
  with counted as (
  insert into rate_windows as w (account_id, endpoint, began_at, count) values ($1, $2, now(), 1)
  on conflict (account_id, endpoint) do update set
    began_at = case when ${is_current} then w.began_at else excluded.began_at end,
    count = case when ${is_current} then w.count + 1 else 1 end
  returning count, began_at)
  select count, ceil(extract(epoch from began_at + interval '${window_seconds} seconds' - now()))::int as reset_seconds
  from counted`);

/** Opens the counter of a process. */
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
      setRateHeaders(request, reply, { limit, remaining: Math.max(limit - row!.count, 0), reset });
      if (row!.count <= limit) return;
      throw new Refusal(
        "rate-limited",
        `This account may send ${limit} of these requests a minute; try again in ${reset} s`,
        { headers: { "retry-after": String(reset) } },
      );
    },
  };
}

/** Sets the RateLimit headers of a window without requests. */
export function setDefaultRateHeaders(
  limit: RateLimit,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  setRateHeaders(request, reply, emptyWindow(limit));
}

/** Returns the window of a limit without requests. */
export function emptyWindow({ default_limit: limit }: RateLimit): Window {
  return { limit, remaining: limit, reset: window_seconds };
}

type Window = { readonly limit: number; readonly remaining: number; readonly reset: number };
type RateHeaders = Readonly<Record<string, string>>;

/** For errors that the HTTP parser answers in the middle of a request. */
const sentHeaders = new WeakMap<Socket, RateHeaders>();

/** Returns the RateLimit headers of a window. */
export function rateHeaders({ limit, remaining, reset }: Window): RateHeaders {
  return {
    "ratelimit-limit": String(limit),
    "ratelimit-remaining": String(remaining),
    "ratelimit-reset": String(reset),
  };
}

function setRateHeaders(request: FastifyRequest, reply: FastifyReply, window: Window): void {
  const headers = rateHeaders(window);
  void reply.headers(headers);
  sentHeaders.set(request.raw.socket, headers);
}

/** Returns the RateLimit headers of the request in progress on a connection. */
export function rateHeadersOn(socket: Socket): RateHeaders {
  return sentHeaders.get(socket) ?? {};
}

/** Clears the headers of a connection: its next request may have no limit. */
export function clearRateHeaders(request: FastifyRequest): void {
  sentHeaders.delete(request.raw.socket);
}
