// Health, metrics and the OpenAPI document, without a token.
import Type from "typebox";
import { measureNodes } from "../../telephony/nodes/measure-nodes.ts";
import { throttledSeconds } from "../../chat/holds/throttled-seconds.ts";
import { queueAge } from "../../engine/queue-age.ts";
import { pendingMigrations } from "../../lib/database/migrate.ts";
import { unavailable } from "../../lib/errors.ts";
import { publicRoute } from "../route.ts";

const Health = Type.Object({ status: Type.Literal("ok") });
const Readiness = Type.Object({
  status: Type.Literal("ok"),
  queue_age_seconds: Type.Number({
    minimum: 0,
    description:
      "How long the oldest due work has been waiting: a job for a worker, or campaigns for the end of their number's throttling",
  }),
});

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
    handle: async ({ app }) => {
      const pending = await pendingMigrations(app.db.pool);
      if (pending.length > 0)
        throw unavailable(new Error(`migrations have not run: ${pending.join(", ")}`));
      // Reported, but not a reason to be unready: waiting jobs are safe, and removing an API process from
      // service would not run them.
      const now = app.clock.now();
      const queue_age_seconds = Math.max(
        await queueAge(app.db.query, now),
        await throttledSeconds(app.db.query, now),
      );
      return { status: "ok", queue_age_seconds };
    },
  }),
  publicRoute({
    method: "GET",
    url: "/metrics",
    id: "readMetrics",
    summary: "Read the metrics of the process and its voice nodes, in the Prometheus text format",
    tag: "System",
    success: { 200: { contentType: "text/plain" } },
    handle: async ({ app, reply }) => {
      await measureNodes(app, app.metrics);
      void reply.header("content-type", app.metrics.registry.contentType);
      return app.metrics.registry.metrics();
    },
  }),
  publicRoute({
    method: "GET",
    url: "/openapi.json",
    id: "readOpenApi",
    summary: "Read this document",
    tag: "System",
    success: { 200: Type.Unknown() },
    handle: async ({ request }) => request.server.swagger(),
  }),
];
