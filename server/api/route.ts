// The declaration of one route. routes.ts lists all of them.
import type { FastifyReply, FastifyRequest } from "fastify";
import type pg from "pg";
import type { Static, TSchema } from "typebox";
import type { Caller } from "../accounts/caller.ts";
import type { Feature, Permission } from "../accounts/permissions.ts";
import type { UserActor } from "../accounts/audit/record-audit.ts";
import type { Tx } from "../lib/database/database.ts";
import type { FieldError } from "../lib/errors.ts";
import type { ApiApp } from "./api-app.ts";
import type { RateLimit } from "./checks/rate-limit.ts";
import type { RenderError } from "./checks/render-error.ts";

/**
 * Who may send a request: any of the permissions, any token, or any person who signed in, on an account with any of
 * the features.
 */
export type Access = {
  readonly features?: readonly Feature[];
  readonly anyOf: readonly Permission[] | "any_token" | "session";
  /** The error type for an agent without the permission; `forbidden` by default. */
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
  readonly description?: string;
  readonly tag: string;
  /** The schema of each success. The lowest status is sent, unless the handler sets another or replies by itself. */
  readonly success: Readonly<
    Record<number, TSchema | { readonly contentType: string } | { readonly content: Contents }>
  >;
  /** The largest body, in bytes; 1 MB by default. */
  readonly body_bytes_max?: number;
  /** The body is passed on as the bytes that arrived; its schema only documents it. */
  readonly raw_body?: true;
  /** A request without an Idempotency-Key is 400. */
  readonly key_required?: true;
  /** An Idempotency-Key has no effect, and is not documented: for what belongs to the sign-in or to a provider. */
  readonly takes_no_key?: true;
  /** It changes what only the caller has: an Idempotency-Key counts for this user alone, not for the account. */
  readonly is_own?: true;
  /**
   * The table of which the write locks the row `params.id`, for which it may wait, such as for an import into a group:
   * one of the row's writes has a connection at a time, and they delay no other write of the account.
   */
  readonly locks?: "groups" | "agent_groups";
  /** A write that a frozen account may make. */
  readonly frozen_too?: true;
  /** Limits each account's requests a minute; every answer carries the RateLimit headers. */
  readonly rate_limit?: RateLimit;
  /** The error type for a malformed body; `malformed-body` by default. */
  readonly malformed_type?: "bad-request";
  /** The body is a multipart upload, received by `parse` or by the handler. */
  readonly multipart?: true;
  /** The body is JSON or a form with these parts; `parse` checks the shape of either. */
  readonly form?: TSchema;
  /** Replaces the standard problem body on every error of this route. */
  readonly renderError?: RenderError;
  /** The schema of that error body, for the document. */
  readonly error?: TSchema;
  /** A read that may be as old as the operator allows for the replica; the account's own writes are in it. */
  readonly from_replica?: true;
  /** The answer lasts until one side ends it; its duration is not measured. */
  readonly endless?: true;
};

/** One request of an authenticated caller, as the hooks and the handler of its route see it. */
export type RequestContext<P, Q, B> = {
  readonly app: ApiApp;
  readonly caller: Caller;
  readonly actor: UserActor;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** Whether the request carries an Idempotency-Key. */
  readonly keyed: boolean;
  /** For an answer that lasts: authenticates and authorizes again; 401 or 403 once access is revoked. */
  reauthorize(): Promise<void>;
  /**
   * Runs a write in one transaction. With an Idempotency-Key its response is stored in that same
   * transaction, and a repeated key gets the stored response instead.
   */
  write<Answer>(effect: (tx: Tx) => Promise<Answer>): Promise<Answer>;
  /**
   * The same for writes that run long, with the transaction's connection for COPY. Each statement may take
   * `statement_seconds`. Two such writes run at once in a process; 503 when too many wait already, 401 or 403 if access
   * was revoked during the wait.
   */
  writeWithClient<Answer>(
    statement_seconds: number,
    effect: (tx: Tx, client: pg.PoolClient) => Promise<Answer>,
  ): Promise<Answer>;
  /** The same for a file that is parsed meanwhile: within csvParsing, which limits how many run at once. */
  writeFromFile<Answer>(
    statement_seconds: number,
    effect: (tx: Tx, client: pg.PoolClient) => Promise<Answer>,
  ): Promise<Answer>;
};

/** A request whose body is not read yet. */
export type UnparsedRequest = Pick<RequestContext<never, never, never>, "caller" | "request">;

/** The body of a request, as its route read it. */
export type ParsedBody<Body> = {
  readonly body: Body;
  /** Compared under a repeated Idempotency-Key: equal for the same request, and only for that. */
  readonly fingerprint: unknown;
  /** Frees what the body holds, such as an open file. Called once the request is answered. */
  readonly release?: () => Promise<void>;
};

type Violations = readonly FieldError[] | Promise<readonly FieldError[]>;

type Parser<Body> = {
  /**
   * Reads a body that is more than JSON under a schema: multipart, streamed. A validation-failed that it throws
   * is reported where violations of the schema are; any other refusal at once.
   */
  readonly parse?: (context: UnparsedRequest) => Promise<ParsedBody<Body>>;
};

type Hooks<Params, Query, Unchecked, Checked> = {
  /** Refuses what outranks a 422, such as a workspace that does not exist. */
  readonly precheck?: (context: RequestContext<Params, Query, Unchecked>) => Promise<unknown>;
  /** Always runs: the violations that a schema cannot see, reported together with the schema's. */
  readonly validate?: (context: RequestContext<Params, Query, Unchecked>) => Violations;
  /**
   * Runs only after a violation of the schema, for a route whose verb validates all else: adds its
   * violations, or refuses with another status.
   */
  readonly explain?: (context: RequestContext<Params, Query, Unchecked>) => Violations;
  readonly handle: (context: RequestContext<Params, Query, Checked>) => Promise<unknown>;
};

type AnySchemas = Schemas<TSchema, TSchema, TSchema>;

export type GuardedRoute = Common &
  AnySchemas &
  Parser<unknown> &
  Hooks<never, never, never, never> & { readonly access: Access };

/** The context of a request without a caller. */
export type PublicContext<Query, Body = unknown> = Pick<
  RequestContext<never, Query, Body>,
  "app" | "query" | "body" | "request" | "reply"
> & {
  /** Call it after a write of an account, before the answer: the account's reads then have the write. Never throws. */
  noteWrite(accountId: number): Promise<void>;
};

/** Refuses requests before their body is read, such as those for what is not configured. */
type BeforeBody = {
  readonly before_body?: (app: ApiApp, request: FastifyRequest) => void | Promise<void>;
};

export type PublicRoute = Common &
  AnySchemas &
  BeforeBody & {
    readonly access: "public";
    readonly handle: (context: PublicContext<never, never>) => Promise<unknown>;
  };

export type Route = GuardedRoute | PublicRoute;

/**
 * Declares a route for callers with a token. The types of its hooks follow from its schemas; with
 * `parse`, the body is what that returns. Until it is validated, a body may have any shape.
 */
export function route<P extends TSchema, Q extends TSchema, B extends TSchema, Parsed = unknown>(
  definition: Common &
    Schemas<P, Q, B> &
    Parser<Parsed> &
    Hooks<Static<P>, Static<Q>, Parsed, unknown extends Parsed ? Static<B> : Parsed> & {
      readonly access: Access;
    },
): Route {
  return definition;
}

/** Declares a route that needs no token: health, metrics, signing in. */
export function publicRoute<Q extends TSchema, B extends TSchema>(
  definition: Common &
    BeforeBody & {
      readonly params?: TSchema;
      readonly query?: Q;
      readonly body?: B;
      readonly handle: (context: PublicContext<Static<Q>, Static<B>>) => Promise<unknown>;
    },
): Route {
  return { ...definition, access: "public" };
}

/** The status of a success for which the handler sets none. */
export function successStatus({ success }: Route): number {
  return Number(Object.keys(success)[0]);
}
