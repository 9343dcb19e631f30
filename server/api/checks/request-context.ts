// Builds the context of a request for the hooks of its route.
import type { FastifyReply, FastifyRequest } from "fastify";
import { lockUnfrozen } from "../../accounts/accounts/is-frozen.ts";
import type { Tx } from "../../lib/database/database.ts";
import type { ApiApp } from "../api-app.ts";
import type { AccountReads } from "./account-reads.ts";
import { reauthorize } from "./authenticate.ts";
import { clientOf } from "./client-of.ts";
import type { Idempotency } from "./idempotency.ts";
import { successStatus, type RequestContext, type GuardedRoute } from "../route.ts";
import type { Begin, Transactions } from "./transactions.ts";

/** Runs the writes of every route. */
export type Writing = {
  readonly idempotency: Idempotency;
  readonly transactions: Transactions;
  readonly accountReads: AccountReads;
};

/** A write that has waited longer checks the freeze again. An export waits 6 s, and caches of callers last 5 s. */
const checked_ms_max = 500;

/**
 * Returns a function that builds the context of a request to `route`, after its key was looked up. Its writes always use
 * the primary.
 */
export function contextFactory(
  app: ApiApp,
  { idempotency, transactions, accountReads }: Writing,
  route: GuardedRoute,
) {
  const status = successStatus(route);
  return (request: FastifyRequest, reply: FastifyReply, body: unknown, readsFrom = app) => {
    const caller = request.caller!;
    const runOnce = async <With extends unknown[], Answer>(
      begin: Begin<With>,
      effect: (tx: Tx, ...beside: With) => Promise<Answer>,
    ): Promise<Answer> => {
      if (!request.keyed) return begin(effect);
      const serialize = reply.getSerializationFunction(String(status)) ?? JSON.stringify;
      request.stored = await idempotency.once(request.keyed, status, begin, async (...open) =>
        serialize({ ...(await effect(...open)) }),
      );
      return JSON.parse(request.stored.response) as Answer;
    };
    // Here, because some GETs write, such as exports.
    const once: typeof runOnce = async (begin, effect) => {
      try {
        return await runOnce(begin, effect);
      } finally {
        await accountReads.noteWrite(caller.account.id);
      }
    };
    const unlessFrozen = <With extends unknown[], Answer>(
      effect: (tx: Tx, ...beside: With) => Promise<Answer>,
      after_ms = 0,
    ) => {
      const from_ms = performance.now() + after_ms;
      return async (tx: Tx, ...beside: With) => {
        if (performance.now() >= from_ms) await lockUnfrozen(tx, caller.account.id);
        return effect(tx, ...beside);
      };
    };
    const { long, file, plain, keyed } = transactions;
    const recheck = () => reauthorize(app, request, route.access);
    const context: RequestContext<unknown, unknown, unknown> = {
      app: readsFrom,
      caller,
      actor: {
        account_id: caller.account.id,
        user_id: caller.user_id,
        token_id: caller.token_id,
        ...clientOf(request),
      },
      params: request.params,
      query: request.query,
      body,
      request,
      reply,
      keyed: request.keyed !== null,
      reauthorize: recheck,
      write: (effect) => {
        const begin = (request.keyed ? keyed : plain)(caller.account.id, lockedRow(route, request));
        // A file may have waited for others of the account before.
        return once(begin, unlessFrozen(effect, route.multipart ? 0 : checked_ms_max));
      },
      writeWithClient: (statement_seconds, effect) =>
        once(long(caller.account.id, statement_seconds, recheck), unlessFrozen(effect)),
      writeFromFile: (statement_seconds, effect) =>
        once(file(statement_seconds, recheck), unlessFrozen(effect)),
    };
    return context as RequestContext<never, never, never>;
  };
}

/** Names the row that a write of the route locks. */
function lockedRow({ locks }: GuardedRoute, { params }: FastifyRequest): string | undefined {
  return locks && `${locks} ${(params as { readonly id: number }).id}`;
}
