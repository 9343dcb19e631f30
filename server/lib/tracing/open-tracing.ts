// The only file that imports OpenTelemetry; it is loaded when an endpoint is configured.
import {
  context,
  diag,
  DiagLogLevel,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type DiagLogger,
  type Span,
  type SpanContext,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { parseTraceParent } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  defaultResource,
  detectResources,
  resourceAttributesEnvDetector,
  resourceFromAttributes,
  serviceNameEnvDetector,
} from "@opentelemetry/resources";
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
  type Sampler,
} from "@opentelemetry/sdk-trace";
import type { Log } from "../log.ts";
import { settledWithin } from "../settled-within.ts";
import type { ActiveSpan, OpenSpan, SpanAttributes, SpanOptions, Tracing } from "./tracing.ts";
import type { TracingSettings } from "./tracing-settings.ts";

/** Limits the memory that waits for a collector; further spans are dropped. */
const waiting_spans_max = 8_192;
const export_delay_ms = 2_000;
const flush_ms = 3_000;
/** Between two lines about failed exports. */
const warn_every_ms = 60_000;

const kinds = {
  internal: SpanKind.INTERNAL,
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  consumer: SpanKind.CONSUMER,
};

/**
 * Opens the export of spans. It fails without an effect on the work that is traced: when the collector is slow or
 * down, spans are dropped, and a warning is logged once a minute. Close it to end the process-wide set-up.
 */
export function openTracing(settings: TracingSettings, log: Log): Tracing {
  const contexts = new AsyncLocalStorageContextManager().enable();
  context.setGlobalContextManager(contexts);
  diag.setLogger(warningsTo(log), { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
  const provider = new TracerProvider({
    resource: defaultResource()
      .merge(resourceFromAttributes({ "service.name": "trunkline" }))
      // Of OTEL_RESOURCE_ATTRIBUTES and OTEL_SERVICE_NAME.
      .merge(
        detectResources({ detectors: [resourceAttributesEnvDetector, serviceNameEnvDetector] }),
      ),
    sampler: samplerOf(settings.sampler),
    spanProcessors: [
      new BatchSpanProcessor({
        // Reads the headers, the time-out, the compression and the certificates from the environment.
        exporter: new OTLPTraceExporter({ url: settings.url }),
        maxQueueSize: waiting_spans_max,
        scheduledDelayMillis: export_delay_ms,
      }),
    ],
  });
  const tracer = provider.getTracer("trunkline");
  return {
    start(name, options) {
      const from = parentOf(options);
      const links = (options.links ?? []).flatMap((link) => remoteSpan(link) ?? []);
      const span = tracer.startSpan(
        name,
        {
          kind: kinds[options.kind ?? "internal"],
          ...(options.attributes ? { attributes: options.attributes } : {}),
          links: links.map((linked) => ({ context: linked })),
        },
        from,
      );
      return openSpan(span, trace.setSpan(from, span));
    },
    active() {
      const span = trace.getActiveSpan();
      return span ? describe(span) : null;
    },
    async close() {
      await settledWithin(
        provider.shutdown().catch(() => {}), // Already logged.
        flush_ms,
      );
      context.disable();
      diag.disable();
    },
  };
}

function openSpan(span: Span, within: Context): OpenSpan {
  return {
    set: (attributes: SpanAttributes) => void span.setAttributes(attributes),
    fail(error_type) {
      span.setAttribute("error.type", error_type);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
    end: () => span.end(),
    run: (work) => context.with(within, work),
  };
}

function describe(span: Span): ActiveSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return {
    trace_id: traceId,
    span_id: spanId,
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    recording: span.isRecording(),
    set: (attributes) => void span.setAttributes(attributes),
  };
}

function parentOf({ parent }: SpanOptions): Context {
  if (parent === undefined) return context.active();
  const cause = parent === null ? null : remoteSpan(parent);
  return cause ? trace.setSpanContext(ROOT_CONTEXT, cause) : ROOT_CONTEXT;
}

function remoteSpan(traceparent: string): SpanContext | null {
  const found = parseTraceParent(traceparent);
  return found && { ...found, isRemote: true };
}

function samplerOf({ name, ratio }: TracingSettings["sampler"]): Sampler {
  const root = {
    on: () => new AlwaysOnSampler(),
    off: () => new AlwaysOffSampler(),
    ratio: () => new TraceIdRatioBasedSampler(ratio),
  };
  switch (name) {
    case "always_on":
      return root.on();
    case "always_off":
      return root.off();
    case "traceidratio":
      return root.ratio();
    case "parentbased_always_off":
      return new ParentBasedSampler({ root: root.off() });
    case "parentbased_traceidratio":
      return new ParentBasedSampler({ root: root.ratio() });
    case "parentbased_always_on":
      return new ParentBasedSampler({ root: root.on() });
  }
}

/** Without the exporter's own text, which may quote the collector's answer. */
function warningsTo(log: Log): DiagLogger {
  let warned_ms = -Infinity;
  const warn = () => {
    if (performance.now() - warned_ms < warn_every_ms) return;
    warned_ms = performance.now();
    log.warn(
      "could not export traces; spans are dropped (npm run cli -- doctor checks the endpoint)",
    );
  };
  const ignore = () => {};
  return { error: warn, warn, info: ignore, debug: ignore, verbose: ignore };
}
