// What the one process that delivers to an endpoint knows.
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

/** How an attempt went, and what follows. */
export type Result = {
  readonly id: number;
  /** Made before it. */
  readonly attempts: number;
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
  readonly enabled: boolean;
  /** The one that replaced the other first. */
  readonly secrets: readonly Buffer[];
  readonly failing_since: Date | null;
  /** Nothing is sent before. */
  readonly resume_at: Date | null;
  /** When something is to be delivered next; null: nothing waits. */
  readonly work_at: Date | null;
};

export type Deliverer = {
  readonly app: App;
  readonly lease: Lease;
  readonly endpoint_id: number;
  /** Aborted: nothing more is begun, and what is under way has little time left. */
  readonly stopping: AbortSignal;
  /** As of the last turn. */
  endpoint: EndpointState | null;
  /** Due, and handed to this process; not yet begun. */
  readonly waiting: DueDelivery[];
  readonly under_way: Set<number>;
  /** Not yet recorded. */
  readonly results: Result[];
  /** Until when the endpoint is to be left alone, as far as that is not recorded. */
  resume_at: Date | null;
  /** What the endpoint at this URL is to be disabled for. */
  disable: { readonly reason: "gone" | "failing"; readonly url: string } | null;
  /** Requests at once: as many as the endpoint takes. */
  window: number;
  /** Makes the loop look again. */
  wake: () => void;
};

const window_first = 8;
const window_max = 32;

/** A deliverer that knows nothing yet but its endpoint's id. */
export function openDeliverer(
  parts: Pick<Deliverer, "app" | "lease" | "endpoint_id" | "stopping">,
): Deliverer {
  return {
    ...parts,
    endpoint: null,
    waiting: [],
    under_way: new Set(),
    results: [],
    resume_at: null,
    disable: null,
    window: window_first,
    wake: () => {},
  };
}

/** More after each success, half after a failure: one that hangs keeps one connection busy, no more. */
export function adjustWindow(deliverer: Deliverer, delivered: boolean): void {
  const { window } = deliverer;
  deliverer.window = delivered
    ? Math.min(window_max, window + 1)
    : Math.max(1, Math.floor(window / 2));
}

/** The later of the pauses counts. */
export function pauseUntil(deliverer: Deliverer, resume_at: Date | null): void {
  const { resume_at: before } = deliverer;
  if (resume_at && !(before && before > resume_at)) deliverer.resume_at = resume_at;
}
