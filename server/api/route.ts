// What one route is. The explicit list of all of them is routes.ts.
import type { FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import type { Static, TSchema } from "typebox";
import type { Caller } from "../accounts/caller.ts";
import type { Feature, Permission } from "../accounts/permissions.ts";
import type { Actor } from "../accounts/audit/record-audit.ts";
import type { Tx } from "../lib/database/database.ts";
import type { FieldError } from "../lib/errors.ts";
import type { ApiApp } from "./api-app.ts";
import type { RateLimit } from "./rate-limit.ts";
import type { RenderError } from "./render-error.ts";

/** Who may: any of the permissions, or whoever has a token, on an account that has one of the features. */
export type Access = {
  readonly features?: readonly Feature[];
  readonly anyOf: readonly Permission[] | "any_token";
  /** What an agent without the permission is told, where it is not `forbidden`. */
  readonly agent_denied?: "permission-denied";
};

type Schemas<P extends TSchema, Q extends TSchema, B extends TSchema> = {
  readonly params?: P;
  readonly query?: Q;
  readonly body?: B;
};

/** The schema per media type, where the caller chooses between several. */
type Contents = Readonly<Record<string, { readonly schema: TSchema }>>;

type Common = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly url: string;
  /** The operation's name in the OpenAPI and in stored idempotency keys: never changes. */
  readonly id: string;
  readonly summary: string;
  readonly tag: string;
  /** The schema of each success; exactly one status, unless the handler replies by itself. */
  readonly success: Readonly<
    Record<number, TSchema | { readonly contentType: string } | { readonly content: Contents }>
  >;
  /** Bytes of body taken; 1 MB unless said. */
  readonly body_bytes_max?: number;
  /** The body is handed on as the bytes that came; its schema documents it and validates nothing. */
  readonly raw_body?: true;
  /**
   * Reads a raw body and returns a sha256 that it shares with no body of another meaning: this is
   * what repeated keys are compared by. May leave what it read as `request.body`. What it refuses
   * with validation-failed is told where failing shapes are; any other refusal at once.
   */
  readonly digest?: (request: FastifyRequest) => Promise<Buffer>;
  /** A request without an Idempotency-Key is 400. */
  readonly key_required?: true;
  /** Bounds each account's requests a minute; every answer then carries the RateLimit headers. */
  readonly rate_limit?: RateLimit;
  /** What `malformed-body` is called here. */
  readonly malformed_type?: "bad-request";
  /** The body is handed on as a stream: multipart uploads. */
  readonly multipart?: true;
  /** The body comes as JSON or as a form with these parts; the handler validates the shape of either. */
  readonly form?: TSchema;
  /** Replaces the standard problem body on every error of this route. */
  readonly renderError?: RenderError;
  /** The body it makes; documents. */
  readonly error?: TSchema;
  /** Its answer lasts until one side ends it: it is not timed. */
  readonly endless?: true;
};

/** One request on its way through a handler. */
export type Call<P, Q, B> = {
  readonly app: ApiApp;
  readonly caller: Caller;
  readonly actor: Actor;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Whether the request carries an Idempotency-Key. */
  readonly keyed: boolean;
  /** For an answer that lasts: 401 or 403 once the caller may no longer have it. */
  mayStill(): Promise<void>;
  /**
   * Runs a write in one transaction. With an Idempotency-Key its answer is stored in that same
   * transaction, and a repeated key gets the stored answer instead.
   */
  write<Answer>(effect: (tx: Tx) => Promise<Answer>): Promise<Answer>;
  /**
   * The same for writes that last, with the transaction's connection for COPY. Statements may take
   * `statement_seconds` each. Two run at once in a process; 503 when too many wait already.
   */
  writeWithClient<Answer>(
    statement_seconds: number,
    effect: (tx: Tx, client: pg.PoolClient) => Promise<Answer>,
  ): Promise<Answer>;
  /**
   * For a multipart request, once its upload has arrived: `sha256` tells it from every other upload.
   * Returns true when the key was answered before: that answer will be sent, and the handler just
   * returns. Otherwise the writes after it go by the request's key, if it has one.
   */
  keyedBy(sha256: Buffer): Promise<boolean>;
};

export type Route = Common & {
  readonly access: Access | "public";
  readonly params?: TSchema;
  readonly query?: TSchema;
  readonly body?: TSchema;
  readonly before?: (call: Call<never, never, never>) => Promise<void>;
  readonly validate?: (call: Call<never, never, never>) => Promise<readonly FieldError[]>;
  readonly handle: (call: Call<never, never, never>) => Promise<unknown>;
};

/** Declares a route for callers with a token; the handler's types follow from its schemas. */
export function route<P extends TSchema, Q extends TSchema, B extends TSchema>(
  definition: Common &
    Schemas<P, Q, B> & {
      readonly access: Access;
      /** What outranks a 422: runs once the body is parsed, before its shape is validated. */
      readonly before?: (call: Call<Static<P>, Static<Q>, unknown>) => Promise<void>;
      /** Failing fields that a schema cannot see; told together with the shape's. The body may have any shape. */
      readonly validate?: (
        call: Call<Static<P>, Static<Q>, unknown>,
      ) => Promise<readonly FieldError[]>;
      readonly handle: (call: Call<Static<P>, Static<Q>, Static<B>>) => Promise<unknown>;
    },
): Route {
  return definition;
}

/** Declares a route that needs no token: health, metrics. */
export function publicRoute<Q extends TSchema>(
  definition: Common & {
    readonly query?: Q;
    readonly handle: (
      call: Pick<Call<never, Static<Q>, unknown>, "app" | "query" | "body" | "request" | "reply">,
    ) => Promise<unknown>;
  },
): Route {
  return { ...definition, access: "public" } as unknown as Route;
}
