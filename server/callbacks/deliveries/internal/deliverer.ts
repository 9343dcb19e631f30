// The state of a deliverer: the one process that sends an endpoint's deliveries.
import type { App } from "../../../engine/app.ts";
import type { Lease } from "../../../engine/leases.ts";

export type DueDelivery = {
  readonly id: number;
  readonly event_id: number;
  readonly method: "GET" | "POST" | "PUT";
  readonly attempts: number;
  readonly type: string;
  readonly occurred_at: Date;
  readonly data: Readonly<Record<string, unknown>>;
};

/** The result of an attempt and what follows it. */
export type Result = {
  readonly id: number;
  /** Attempts before this one. */
  readonly attempts: number;
  /** Where the request was sent. */
  readonly url: string;
  readonly at: Date;
  readonly duration_ms: number;
  readonly status: number | null;
  readonly error: string | null;
  readonly response: string | null;
  readonly state: "delivered" | "pending" | "failed";
  readonly due_at: Date | null;
};

export type EndpointState = {
  readonly url: string;
  /** False also while the account is frozen. */
  readonly enabled: boolean;
  /** The current secret first, then the rotated one while it is valid. */
  readonly secrets: readonly Buffer[];
  readonly failing_since: Date | null;
  /** Until when the endpoint is paused. */
  readonly resume_at: Date | null;
  /** When the next delivery is due; null if none is pending. */
  readonly work_at: Date | null;
};

export type Deliverer = {
  readonly app: App;
  readonly lease: Lease;
  readonly endpoint_id: number;
  /** When aborted, no request starts, and requests in flight are cut off after a few seconds. */
  readonly stopping: AbortSignal;
  /** As of the last iteration. */
  endpoint: EndpointState | null;
  /** Claimed and not started. */
  readonly waiting: DueDelivery[];
  readonly in_flight: Set<number>;
  /** Not recorded yet. */
  readonly results: Result[];
  /** A pause of the endpoint that is not recorded yet. */
  resume_at: Date | null;
  /** Why the endpoint with this URL must be disabled. */
  disable: { readonly reason: "gone" | "failing"; readonly url: string } | null;
  /** The limit of concurrent requests, which adapts to the endpoint. */
  window: number;
  /** Makes the loop iterate immediately. */
  wake: () => void;
};

const window_first = 8;
const window_max = 32;

/** Returns the initial state of a deliverer. */
export function openDeliverer(
  parts: Pick<Deliverer, "app" | "lease" | "endpoint_id" | "stopping">,
): Deliverer {
  return {
    ...parts,
    endpoint: null,
    waiting: [],
    in_flight: new Set(),
    results: [],
    resume_at: null,
    disable: null,
    window: window_first,
    wake: () => {},
  };
}

/** Adds 1 after a success and halves after a failure, so that a hanging endpoint occupies one connection. */
export function adjustWindow(deliverer: Deliverer, delivered: boolean): void {
  const { window } = deliverer;
  deliverer.window = delivered
    ? Math.min(window_max, window + 1)
    : Math.max(1, Math.floor(window / 2));
}

/** Pauses the endpoint; the later of two pauses applies. */
export function pauseUntil(deliverer: Deliverer, resume_at: Date | null): void {
  const { resume_at: before } = deliverer;
  if (resume_at && !(before && before > resume_at)) deliverer.resume_at = resume_at;
}

/** Ends the endpoint's time of failure, from a success that is not recorded yet. */
export function endFailure(deliverer: Deliverer): void {
  const { endpoint, disable } = deliverer;
  if (endpoint) deliverer.endpoint = { ...endpoint, failing_since: null };
  if (disable?.reason === "failing") deliverer.disable = null;
}
