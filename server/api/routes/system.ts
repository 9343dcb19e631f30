// Health, metrics and the OpenAPI document, without a token.
import { createHash, timingSafeEqual } from "node:crypto";
import Type from "typebox";
import { measureNodes } from "../../telephony/nodes/measure-nodes.ts";
import { throttledSeconds } from "../../chat/holds/throttled-seconds.ts";
import { queueAge } from "../../engine/queue-age.ts";
import { pendingMigrations } from "../../lib/database/migrate.ts";
import { unavailable } from "../../lib/errors.ts";
import { openSharedReads } from "../shared-reads.ts";
import type { ApiApp } from "../api-app.ts";
import { bearerToken, unauthorized } from "../checks/authenticate.ts";
import { sendDocument } from "../documents.ts";
import { openApiDocument } from "../openapi.ts";
import { publicRoute } from "../route.ts";

const Health = Type.Object({ status: Type.Literal("ok") }, { title: "Health" });
const Readiness = Type.Object(
  {
    status: Type.Literal("ok"),
    queue_age_seconds: Type.Number({
      minimum: 0,
      description:
        "How long the oldest due work has been waiting: a job for a worker, or campaigns for the end of their number's throttling",
    }),
    replica: Type.Optional(
      Type.Enum(["used", "not_used"], {
        type: "string",
        description:
          "With DATABASE_READ_URL: whether reads use the replica. They use the primary while it does not answer or lags beyond the bound",
      }),
    ),
  },
  { title: "Readiness" },
);

/** Anyone may send these requests, however often: they cost a query a second. */
const fresh_ms = 1_000;

const readReadiness = openSharedReads(fresh_ms, async ({ db, clock, replica }: ApiApp) => {
  const pending = await pendingMigrations(db.pool);
  if (pending.length > 0)
    throw unavailable(new Error(`migrations have not run: ${pending.join(", ")}`));
  // Reported, but not a reason to be unready: waiting jobs are safe, and removing an API process from
  // service would not run them.
  const now = clock.now();
  const queue_age_seconds = Math.max(
    await queueAge(db.query, now),
    await throttledSeconds(db.query, now),
  );
  const shown = replica ? { replica: replica.isUsable() ? "used" : "not_used" } : {};
  return { status: "ok", queue_age_seconds, ...shown };
});

const readMetrics = openSharedReads(fresh_ms, async (app: ApiApp) => {
  await Promise.all([measureNodes(app, app.metrics), app.measureInstallation()]);
  if (app.replica) {
    app.metrics.replicaUsable.set(app.replica.isUsable() ? 1 : 0);
    app.metrics.replicaStalenessSeconds.set(app.replica.stalenessMs() / 1_000);
  }
  return app.metrics.registry.metrics();
});

/** Compares digests, so that the time of the comparison does not depend on the tokens. */
function isSameToken(one: string, other: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(one), digest(other));
}

export const systemRoutes = [
  publicRoute({
    method: "GET",
    url: "/health/live",
    id: "readLiveness",
    summary: "Check whether the process is running",
    tag: "System",
    success: { 200: Health },
    handle: async () => ({ status: "ok" }),
  }),
  publicRoute({
    method: "GET",
    url: "/health/ready",
    id: "readReadiness",
    summary: "Check whether the database answers and its schema is current",
    tag: "System",
    success: { 200: Readiness },
    handle: async ({ app }) => readReadiness(app),
  }),
  publicRoute({
    method: "GET",
    url: "/metrics",
    id: "readMetrics",
    summary: "Read the metrics of the process and its voice nodes, in the Prometheus text format",
    description:
      "At most a second old. Needs the bearer token of the setting METRICS_TOKEN, if there is one.",
    tag: "System",
    success: { 200: { contentType: "text/plain" } },
    handle: async ({ app, request, reply }) => {
      if (app.metrics_token !== null && !isSameToken(bearerToken(request), app.metrics_token))
        throw unauthorized("The metrics need the token of the setting METRICS_TOKEN");
      const text = await readMetrics(app);
      void reply.header("content-type", app.metrics.registry.contentType);
      return text;
    },
  }),
  publicRoute({
    method: "GET",
    url: "/openapi.json",
    id: "readOpenApi",
    summary: "Read this document",
    tag: "System",
    success: { 200: Type.Unknown() },
    handle: async ({ request, reply }) =>
      sendDocument(await openApiDocument(request.server), request, reply),
  }),
];
