// The Idempotency-Key: a retry with the same key gets the original answer, byte for byte, and has
// no second effect. The answer is stored in the transaction of the effect; failures are not stored.
import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { sql } from "kysely";
import { canonicalJson } from "../lib/canonical-json.ts";
import { statement, type Database, type Tx } from "../lib/database/database.ts";
import { Refusal, invalidField, unavailable } from "../lib/errors.ts";
import type { ApiApp } from "./api-app.ts";
import type { Begin } from "./transactions.ts";

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

/** How long a twin waits for the first request under its key. */
const twin_wait_ms = 10_000;

/**
 * The key of a request that carries one, or null. 400 when it is empty, blank or too long, or when
 * it is missing where it is `required`.
 */
export function readKey(request: FastifyRequest, required: boolean): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) {
    if (required)
      throw new Refusal(
        "bad-request",
        "The Idempotency-Key header is missing: send a text of your own, the same whenever you repeat this request",
      );
    return null;
  }
  if (typeof key !== "string" || key.trim() === "" || key.length > 255) {
    throw new Refusal(
      "bad-request",
      "Idempotency-Key must have 1 to 255 characters and not be blank",
    );
  }
  return key;
}

/** What a key stands for: `body` is the parsed body, or what tells it from every other. */
export function keyedRequest(
  request: FastifyRequest,
  named: { readonly account_id: number; readonly endpoint: string; readonly key: string },
  body: unknown,
): KeyedRequest {
  const asked = canonicalJson({ params: request.params, query: request.query, body });
  return { ...named, request_sha256: createHash("sha256").update(asked).digest() };
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
  /**
   * Runs `effect` at most once per key, in a transaction of `begin`'s; every other request under
   * the key gets the first one's answer.
   */
  once<With extends unknown[]>(
    keyed: KeyedRequest,
    status: number,
    begin: Begin<With>,
    effect: (tx: Tx, ...beside: With) => Promise<string>,
  ): Promise<StoredAnswer>;
};

/**
 * Twins in this process wait for the first without holding a connection; a twin in another process
 * waits on the row, for a bounded time.
 */
export function openIdempotency(app: Pick<ApiApp, "db" | "clock">): Idempotency {
  const running = new Map<string, Promise<StoredAnswer>>();
  return {
    async once(keyed, status, begin, effect) {
      const name = JSON.stringify([keyed.account_id, keyed.endpoint, keyed.key]);
      for (let first = running.get(name); first; first = running.get(name)) {
        await withinBound(first);
        const stored = await findStoredAnswer(app.db, keyed);
        if (stored) return stored;
      }
      const run = runOnce(app, keyed, status, (work) =>
        begin((tx, ...beside) => work(tx, () => effect(tx, ...beside))),
      ).finally(() => running.delete(name));
      running.set(name, run);
      return run;
    },
  };
}

/** `begin` hands on the effect as it stands in its transaction. */
async function runOnce(
  app: Pick<ApiApp, "db" | "clock">,
  keyed: KeyedRequest,
  status: number,
  begin: Begin<[effect: () => Promise<string>]>,
): Promise<StoredAnswer> {
  const own = await begin(async (tx, effect) => {
    await sql`select set_config('lock_timeout', ${`${twin_wait_ms}ms`}, true)`.execute(tx);
    const inserted = await tx
      .insertInto("idempotency_keys")
      .values({ ...keyed, status, response: "", created_at: app.clock.now() })
      .onConflict((conflict) => conflict.doNothing())
      .returning("key")
      .execute();
    if (inserted.length === 0) return null;
    const response = await effect();
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
