// The Idempotency-Key: a retry with the same key gets the stored response, byte for byte, and has
// no second effect. The response is stored in the transaction of the effect; failures are not stored.
import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { sql } from "kysely";
import { canonicalJson } from "../../lib/canonical-json.ts";
import { statement, type Database, type Tx } from "../../lib/database/database.ts";
import { Refusal, invalidField, unavailable } from "../../lib/errors.ts";
import type { ApiApp } from "../api-app.ts";
import type { Begin } from "./transactions.ts";

/** A request with an Idempotency-Key: its account, operation, key and fingerprint. */
export type KeyedRequest = {
  readonly account_id: number;
  readonly endpoint: string;
  readonly key: string;
  readonly request_sha256: Buffer;
};

export type StoredResponse = {
  readonly status: number;
  readonly response: string;
  readonly replayed: boolean;
};

/** How long a concurrent request waits for the first one under its key. */
const concurrent_wait_ms = 10_000;

/** Returns the key of a request, or null. 400 when it is empty, blank or too long, or missing and `required`. */
export function readKey(request: FastifyRequest, required: boolean): string | null {
  const key = request.headers["idempotency-key"];
  if (key === undefined) {
    if (required)
      throw new Refusal(
        "bad-request",
        "The Idempotency-Key header is missing: send a value unique to this operation, and the same value on every retry",
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

/**
 * Names a keyed request; its hash covers path, query and the fingerprint of the body, without the current password: it
 * says who asks, not what, and could be guessed from a copy of the database.
 */
export function keyedRequest(
  request: FastifyRequest,
  named: { readonly account_id: number; readonly endpoint: string; readonly key: string },
  fingerprint: unknown,
): KeyedRequest {
  const { params, query } = request;
  const isObject = typeof fingerprint === "object" && fingerprint !== null;
  const body =
    isObject && "current_password" in fingerprint
      ? { ...fingerprint, current_password: undefined }
      : fingerprint;
  const text = canonicalJson({ params, query, body });
  return { ...named, request_sha256: createHash("sha256").update(text).digest() };
}

const findResponse = statement<{ request_sha256: Buffer; status: number; response: string }>(`
  select request_sha256, status, response from idempotency_keys
  where account_id = $1 and endpoint = $2 and key = $3`);

/** Returns the response stored under a key, or null; 422 when it is that of another request. */
export async function findStoredResponse(
  db: Database,
  keyed: KeyedRequest,
): Promise<StoredResponse | null> {
  const [row] = await findResponse(db.pool, [keyed.account_id, keyed.endpoint, keyed.key]);
  if (!row) return null;
  if (!row.request_sha256.equals(keyed.request_sha256)) {
    throw invalidField("Idempotency-Key", "was already used for another request");
  }
  return { status: row.status, response: row.response, replayed: true };
}

/** Sends a stored response; a replayed one is marked by the header Idempotency-Replayed. */
export function sendStored(stored: StoredResponse, reply: FastifyReply): FastifyReply {
  if (stored.replayed) void reply.header("idempotency-replayed", "true");
  return reply
    .code(stored.status)
    .header("content-type", "application/json; charset=utf-8")
    .serializer((text: string) => text)
    .send(stored.response);
}

export type Idempotency = {
  /**
   * Runs `effect` at most once per key, in a transaction that `begin` opens. Every other request under the
   * key gets the stored response.
   */
  once<With extends unknown[]>(
    keyed: KeyedRequest,
    status: number,
    begin: Begin<With>,
    effect: (tx: Tx, ...beside: With) => Promise<string>,
  ): Promise<StoredResponse>;
};

/**
 * Concurrent requests under one key wait for the first: in this process without holding a connection, in
 * another process on the row, for a bounded time.
 */
export function openIdempotency(app: Pick<ApiApp, "db" | "clock">): Idempotency {
  const running = new Map<string, Promise<StoredResponse>>();
  return {
    async once(keyed, status, begin, effect) {
      const name = JSON.stringify([keyed.account_id, keyed.endpoint, keyed.key]);
      for (let first = running.get(name); first; first = running.get(name)) {
        await withinBound(first);
        const stored = await findStoredResponse(app.db, keyed);
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

/** `begin` passes on the effect, bound to its transaction. */
async function runOnce(
  app: Pick<ApiApp, "db" | "clock">,
  keyed: KeyedRequest,
  status: number,
  begin: Begin<[effect: () => Promise<string>]>,
): Promise<StoredResponse> {
  const own = await begin(async (tx, effect) => {
    await sql`select set_config('lock_timeout', ${`${concurrent_wait_ms}ms`}, true)`.execute(tx);
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
  const stored = own ?? (await findStoredResponse(app.db, keyed));
  if (!stored) throw new Error("the idempotency row that this request conflicted with is gone");
  return stored;
}

/** Waits until the first request succeeds or fails; 503 when it takes too long. */
async function withinBound(first: Promise<StoredResponse>): Promise<void> {
  const { promise: bound, resolve } = Promise.withResolvers<"bound">();
  const timer = setTimeout(() => resolve("bound"), concurrent_wait_ms);
  const outcome = await Promise.race([
    first.then(
      () => "ended",
      () => "ended",
    ),
    bound,
  ]);
  clearTimeout(timer);
  if (outcome === "bound")
    throw unavailable(
      new Error("the first request under this Idempotency-Key did not finish in time"),
    );
}
