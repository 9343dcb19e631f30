import type { App } from "../../../engine/app.ts";
import { statement } from "../../../lib/database/database.ts";
import { pauseUntil, type Deliverer, type DueDelivery, type EndpointState } from "./deliverer.ts";

type TurnRow = {
  turn: {
    url: string;
    enabled: boolean;
    secrets: (string | null)[];
    failing_since: string | null;
    resume_at: string | null;
    work_at: string | null;
    due: (Omit<DueDelivery, "occurred_at"> & { occurred_at: string })[];
  } | null;
};

const turn = statement<TurnRow>(
  "select record_and_claim_deliveries($1, $2, $3, $4, $5, $6, $7, $8) as turn",
);

/**
 * Records the deliverer's results and takes at most `take` more that are due; null when the endpoint is
 * gone. Throws when the lease is lost, or the database away: the results stay.
 */
export async function callbackTurn(
  app: App,
  deliverer: Deliverer,
  take: number,
): Promise<{ endpoint: EndpointState; due: DueDelivery[] } | null> {
  const { lease, endpoint_id, results, resume_at, waiting, under_way } = deliverer;
  const batch = results.splice(0);
  deliverer.resume_at = null;
  const busy = [...under_way, ...waiting.map(({ id }) => id)];
  try {
    const [row] = await turn(app.db.pool, [
      lease.account_id,
      endpoint_id,
      lease.fence,
      JSON.stringify(batch),
      resume_at,
      take,
      busy,
      app.clock.now(),
    ]);
    return row!.turn && readTurn(row!.turn);
  } catch (error) {
    results.unshift(...batch);
    pauseUntil(deliverer, resume_at);
    throw error;
  }
}

function readTurn({ due, ...found }: NonNullable<TurnRow["turn"]>) {
  const endpoint: EndpointState = {
    url: found.url,
    enabled: found.enabled,
    secrets: found.secrets
      .filter((secret) => secret !== null)
      .map((secret) => Buffer.from(secret, "base64")),
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
