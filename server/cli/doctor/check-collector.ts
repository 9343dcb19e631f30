import type { Config } from "../../config.ts";

const patience_ms = 3_000;

/** Sends no spans to the collector of traces; throws an Error that says what to do if it does not answer as one. */
export async function checkCollector({ tracing }: Config): Promise<string> {
  if (tracing === null) return "no collector is configured";
  const { host } = new URL(tracing.url);
  const answer = await fetch(tracing.url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"resourceSpans":[]}',
    signal: AbortSignal.timeout(patience_ms),
  }).catch((error: unknown) => {
    const { cause, message } = error as Error & { cause?: { code?: string } };
    throw new Error(
      `the collector at ${host} cannot be reached (${cause?.code ?? message}); traces are dropped`,
    );
  });
  await answer.body?.cancel();
  // The credentials in OTEL_EXPORTER_OTLP_HEADERS are the exporter's.
  if (answer.ok || answer.status === 401 || answer.status === 403)
    return `the collector at ${host} answers`;
  throw new Error(
    `the collector at ${host} answers ${answer.status} to traces; the endpoint must be its OTLP/HTTP receiver (port 4318)`,
  );
}
