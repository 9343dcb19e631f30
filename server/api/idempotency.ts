// The Idempotency-Key: a retry with the same key gets the original answer, byte for byte, and has
// no second effect. The answer is stored in the transaction of the effect; failures are not stored.
import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { sql } from "kysely";
import { statement, type Database, type Tx } from "../lib/database.ts";
import { Refusal, invalidField, unavailable } from "../lib/errors.ts";
import { openShares } from "../lib/shares.ts";
import type { ApiApp } from "./api-app.ts";

/** One keyed request: who, which operation, which key, and what was asked. */
export type KeyedRequest = {
  readonly account_id: number;
  readonly endpoint: string;
  readonly key: string;
  readonly request_sha256: Buffer;
};

export type StoredAnswer = {
  readonly status: number;
  readonly response: string;
  readonly replayed: boolean;
};

/**
 * Keyed writes that have a connection: one whose twin hangs in another process keeps it until the
 * bound, and must leave some to everybody else.
 */
const writes_at_once_max = 6;
const writes_of_account_max = 4;
const writes_waiting_max = 1_000;

/** How long a twin waits for the first request under its key. */
const twin_wait_ms = 10_000;

/** The key of a request that carries one, or null; 400 when it is empty, blank or too long. */
export function readKey(
  request: FastifyRequest,
  accountId: number,
  endpoint: string,
): KeyedRequest | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) return null;
  if (typeof key !== "string" || key.trim() === "" || key.length > 255) {
    throw new Refusal(
      "bad-request",
      "Idempotency-Key must have 1 to 255 characters and not be blank",
    );
  }
  const asked = canonical({ params: request.params, query: request.query, body: request.body });
  return {
    account_id: accountId,
    endpoint,
    key,
    request_sha256: createHash("sha256").update(asked).digest(),
  };
}

const findAnswer = statement<{ request_sha256: Buffer; status: number; response: string }>(`
  select request_sha256, status, response from idempotency_keys
  where account_id = $1 and endpoint = $2 and key = $3`);

/** The answer already given under this key; 422 when it was given to another request. */
export async function findStoredAnswer(
  db: Database,
  keyed: KeyedRequest,
): Promise<StoredAnswer | null> {
  const [row] = await findAnswer(db.pool, [keyed.account_id, keyed.endpoint, keyed.key]);
  if (!row) return null;
  if (!row.request_sha256.equals(keyed.request_sha256)) {
    throw invalidField("Idempotency-Key", "was already used for another request");
  }
  return { status: row.status, response: row.response, replayed: true };
}

export function sendStored(answer: StoredAnswer, reply: FastifyReply): FastifyReply {
  if (answer.replayed) void reply.header("idempotency-replayed", "true");
  return reply
    .code(answer.status)
    .header("content-type", "application/json; charset=utf-8")
    .serializer((text: string) => text)
    .send(answer.response);
}

export type Idempotency = {
  /** Runs `effect` at most once per key; every other request under it gets the first one's answer. */
  once(
    keyed: KeyedRequest,
    status: number,
    effect: (tx: Tx) => Promise<string>,
  ): Promise<StoredAnswer>;
};

/**
 * Twins in this process wait for the first without holding a connection; a twin in another process
 * waits on the row, for a bounded time.
 */
export function openIdempotency(app: Pick<ApiApp, "db" | "clock">): Idempotency {
  const running = new Map<string, Promise<StoredAnswer>>();
  const writes = openShares(writes_at_once_max, writes_of_account_max, writes_waiting_max);
  return {
    async once(keyed, status, effect) {
      const name = JSON.stringify([keyed.account_id, keyed.endpoint, keyed.key]);
      for (let first = running.get(name); first; first = running.get(name)) {
        await withinBound(first);
        const stored = await findStoredAnswer(app.db, keyed);
        if (stored) return stored;
      }
      const run = writes
        .use(keyed.account_id, () => runOnce(app, keyed, status, effect))
        .finally(() => running.delete(name));
      running.set(name, run);
      return run;
    },
  };
}

async function runOnce(
  app: Pick<ApiApp, "db" | "clock">,
  keyed: KeyedRequest,
  status: number,
  effect: (tx: Tx) => Promise<string>,
): Promise<StoredAnswer> {
  const own = await app.db.query.transaction().execute(async (tx) => {
    await sql`select set_config('lock_timeout', ${`${twin_wait_ms}ms`}, true)`.execute(tx);
    const inserted = await tx
      .insertInto("idempotency_keys")
      .values({ ...keyed, status, response: "", created_at: app.clock.now() })
      .onConflict((conflict) => conflict.doNothing())
      .returning("key")
      .execute();
    if (inserted.length === 0) return null;
    const response = await effect(tx);
    await tx
      .updateTable("idempotency_keys")
      .set({ response })
      .where("account_id", "=", keyed.account_id)
      .where("endpoint", "=", keyed.endpoint)
      .where("key", "=", keyed.key)
      .execute();
    return { status, response, replayed: false };
  });
  const answer = own ?? (await findStoredAnswer(app.db, keyed));
  if (!answer) throw new Error("an idempotency row that was in the way is gone");
  return answer;
}

/** Waits for the first request's end, whichever it is; 503 when it takes too long. */
async function withinBound(first: Promise<StoredAnswer>): Promise<void> {
  const { promise: bound, resolve } = Promise.withResolvers<"bound">();
  const timer = setTimeout(() => resolve("bound"), twin_wait_ms);
  const outcome = await Promise.race([
    first.then(
      () => "ended",
      () => "ended",
    ),
    bound,
  ]);
  clearTimeout(timer);
  if (outcome === "bound")
    throw unavailable(new Error("a twin of this request did not end in time"));
}

/** JSON with sorted keys: bodies are compared as parsed values. */
function canonical(value: object): string {
  return JSON.stringify(value, (_key, child: unknown) => {
    if (typeof child !== "object" || child === null || Array.isArray(child)) return child;
    return Object.fromEntries(Object.entries(child).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
