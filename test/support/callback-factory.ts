// Creates callback endpoints, and events with deliveries in any state.
import { randomBytes } from "node:crypto";
import type { EventType } from "../../server/engine/event-catalogue.ts";
import type { LeaseTimes } from "../../server/engine/leases.ts";
import { relayEvents } from "../../server/engine/relay-events.ts";
import type { App } from "../../server/engine/app.ts";
import { unique, type TestAccount } from "./account-factory.ts";

/** Long enough not to expire on a busy machine, which would repeat the requests in flight. */
export const lasting_lease: LeaseTimes = {
  lease_ms: 600_000,
  renew_ms: 60_000,
  margin_ms: 1_000,
};

type Owner = Pick<TestAccount, "account_id">;

export type NewEndpoint = {
  readonly kind?: "account" | "campaign";
  readonly url?: string;
  /** Null: all types. */
  readonly types?: readonly EventType[] | null;
  readonly enabled?: boolean;
};

/** Creates an endpoint for every event type at a URL without a listener, by default. */
export async function makeEndpoint(
  app: Pick<App, "db" | "clock">,
  { account_id }: Owner,
  { kind = "account", url, types = null, enabled = true }: NewEndpoint = {},
): Promise<{ id: number; url: string; secret: Buffer }> {
  const now = app.clock.now();
  return app.db.query
    .insertInto("callback_endpoints")
    .values({
      account_id,
      kind,
      url: url ?? `http://127.0.0.1:1/${unique("endpoint")}`,
      types: types && [...types],
      secret: randomBytes(32),
      enabled,
      disabled_reason: enabled ? null : "manual",
      disabled_at: enabled ? null : now,
      created_at: now,
      updated_at: now,
    })
    .returning(["id", "url", "secret"])
    .executeTakeFirstOrThrow();
}

export type NewEvent = {
  readonly type?: EventType;
  /** Now by default. */
  readonly occurred_at?: Date;
  readonly data?: Readonly<Record<string, unknown>>;
};

/** Records events and returns their IDs; `relay` assigns their sequence numbers. */
export async function makeEvents(
  app: Pick<App, "db" | "clock">,
  { account_id }: Owner,
  events: readonly NewEvent[],
): Promise<number[]> {
  const now = app.clock.now();
  const rows = events.map(({ type = "lead.created", occurred_at = now, data = {} }) => ({
    account_id,
    type,
    occurred_at,
    data: JSON.stringify(data),
  }));
  const made = await app.db.query.insertInto("events").values(rows).returning("id").execute();
  return made.map(({ id }) => id);
}

/** Relays all events once, without a worker: assigns sequence numbers and creates deliveries. */
export async function relay(app: App): Promise<void> {
  await relayEvents(app, new AbortController().signal);
}

export type NewDelivery = NewEvent & {
  readonly state?: "pending" | "delivered" | "failed";
  /** The result of each attempt: a status, or the reason why there was no response. */
  readonly attempts?: readonly (number | string)[];
};

/**
 * Records an event, relays it, and puts its delivery to a subscribed endpoint into a state, all at the
 * app's time.
 */
export async function makeDelivery(
  app: App,
  owner: Owner,
  endpoint_id: number,
  { state = "pending", attempts = [], ...event }: NewDelivery = {},
): Promise<{ id: number; event_id: number }> {
  const { account_id } = owner;
  const at = app.clock.now();
  const [event_id] = await makeEvents(app, owner, [event]);
  await relay(app);
  const { id } = await app.db.query
    .updateTable("callback_deliveries")
    .set({
      state,
      attempts: attempts.length,
      finished_at: state === "pending" ? null : at,
    })
    .where("account_id", "=", account_id)
    .where("endpoint_id", "=", endpoint_id)
    .where("event_id", "=", event_id!)
    .returning("id")
    .executeTakeFirstOrThrow();
  for (const outcome of attempts) {
    const status = typeof outcome === "number" ? outcome : null;
    await app.db.query
      .insertInto("callback_attempts")
      .values({
        account_id,
        delivery_id: id,
        at,
        duration_ms: 12,
        status,
        error: status === null ? String(outcome) : null,
        response: status === null ? null : `said ${status}`,
      })
      .execute();
  }
  return { id, event_id: event_id! };
}
