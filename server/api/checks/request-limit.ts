// Limits how many requests a minute an account and each of its tokens may send, over all routes. Counted in the
// memory of the process: a query for each request would cost more than most requests.
import type { FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import type { Clock } from "../../lib/clock.ts";
import { Refusal } from "../../lib/errors.ts";
import { rateHeaders } from "./rate-limit.ts";

export type RequestLimiter = {
  /**
   * Counts an authenticated request; `rate-limited` beyond a limit. Sets the RateLimit headers of the limit
   * that is closer to being reached, but for `has_own_limit` only when it refuses.
   */
  count(request: FastifyRequest, reply: FastifyReply, has_own_limit: boolean): void;
};

type Window = { readonly ends_ms: number; count: number; readonly tokens: Map<number, number> };

const window_ms = 60_000;
const accounts_max = 20_000;

/** Opens the limiter of a process. */
export function openRequestLimiter(clock: Clock): RequestLimiter {
  const windows = new LRUCache<number, Window>({ max: accounts_max });
  return {
    count(request, reply, has_own_limit) {
      const { account, token_id } = request.caller!;
      const now_ms = clock.now().getTime();
      let window = windows.get(account.id);
      // A window that ends later than its length from now is from before the clock was set back.
      if (!window || now_ms >= window.ends_ms || window.ends_ms > now_ms + window_ms) {
        window = { ends_ms: now_ms + window_ms, count: 0, tokens: new Map() };
        windows.set(account.id, window);
      }
      const of_token = (window.tokens.get(token_id) ?? 0) + 1;
      window.tokens.set(token_id, of_token);
      // Refused requests of one token do not use up the account's limit.
      if (of_token <= account.token_requests_a_minute) window.count++;
      const token_left = account.token_requests_a_minute - of_token;
      const account_left = account.requests_a_minute - window.count;
      const [who, limit, left] =
        token_left <= account_left
          ? (["token", account.token_requests_a_minute, token_left] as const)
          : (["account", account.requests_a_minute, account_left] as const);
      if (left >= 0 && has_own_limit) return;
      const reset = Math.max(Math.ceil((window.ends_ms - now_ms) / 1_000), 1);
      void reply.headers(rateHeaders({ limit, remaining: Math.max(left, 0), reset }));
      if (left >= 0) return;
      throw new Refusal(
        "rate-limited",
        `This ${who} may send ${limit} requests a minute; try again in ${reset} s`,
        { headers: { "retry-after": String(reset) } },
      );
    },
  };
}
