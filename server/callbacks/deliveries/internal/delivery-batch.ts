import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import { secretPlace } from "../../endpoints/sign-callback.ts";
import { pauseUntil, type Deliverer, type DueDelivery, type EndpointState } from "./deliverer.ts";

type BatchRow = {
  batch: {
    url: string;
    enabled: boolean;
    /** The current one and the rotated one, as they are stored. */
    secrets: (string | null)[];
    failing_since: string | null;
    resume_at: string | null;
    work_at: string | null;
    due: (Omit<DueDelivery, "occurred_at"> & { occurred_at: string })[];
  } | null;
};

const recordAndClaim = statement<BatchRow>(
  "select record_and_claim_deliveries($1, $2, $3, $4, $5, $6, $7, $8) as batch",
);

export type Claimed = {
  /** With the recorded results. */
  readonly endpoint: EndpointState;
  /** Whether an attempt at the endpoint's URL is among the recorded results and failed. */
  readonly failed: boolean;
  readonly due: DueDelivery[];
};

/**
 * Records the deliverer's results and claims at most `take` due deliveries; returns null when the endpoint
 * is deleted. Throws when the lease is lost or the database is unavailable, and then keeps the results.
 */
export async function recordAndClaimDeliveries(
  app: App,
  deliverer: Deliverer,
  take: number,
): Promise<Claimed | null> {
  const { lease, endpoint_id, results, resume_at, waiting, in_flight } = deliverer;
  const batch = results.splice(0);
  deliverer.resume_at = null;
  const busy = [...in_flight, ...waiting.map(({ id }) => id)];
  try {
    const [row] = await recordAndClaim(app.db.pool, [
      lease.account_id,
      endpoint_id,
      lease.fence,
      JSON.stringify(batch),
      resume_at,
      take,
      busy,
      app.clock.now(),
    ]);
    if (!row!.batch) return null;
    const { url } = row!.batch;
    const failed = batch.some((result) => result.state !== "delivered" && result.url === url);
    return { ...readBatch(deliverer, row!.batch), failed };
  } catch (error) {
    results.unshift(...batch);
    pauseUntil(deliverer, resume_at);
    throw error;
  }
}

function readBatch(
  { app, lease, endpoint_id }: Deliverer,
  { due, ...found }: NonNullable<BatchRow["batch"]>,
) {
  const { account_id } = lease;
  const endpoint: EndpointState = {
    url: found.url,
    enabled: found.enabled,
    secrets: found.secrets.flatMap((stored, i) => {
      const place = secretPlace(i === 0 ? "secret" : "old_secret", account_id, endpoint_id);
      return stored === null ? [] : [app.secrets.open(place, Buffer.from(stored, "base64"))];
    }),
    failing_since: readTime(found.failing_since),
    resume_at: readTime(found.resume_at),
    work_at: readTime(found.work_at),
  };
  const deliveries = due.map((row) => ({ ...row, occurred_at: new Date(row.occurred_at) }));
  return { endpoint, due: deliveries };
}

function readTime(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
