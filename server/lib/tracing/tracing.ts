// Spans of OpenTelemetry. Until `open-tracing.ts` is loaded, none are recorded.
import { AsyncLocalStorage } from "node:async_hooks";

/** Never personal data, secrets or text of users: no phone number, name, message, URL query or error message. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | undefined>>;

export type SpanOptions = {
  /** `internal` by default. */
  readonly kind?: "server" | "client" | "consumer";
  readonly attributes?: SpanAttributes;
  /** A `traceparent` (W3C Trace Context), or null for a trace of its own; the active span by default. */
  readonly parent?: string | null | undefined;
  /** Each a `traceparent`: other causes. */
  readonly links?: readonly string[];
};

export type OpenSpan = {
  set(attributes: SpanAttributes): void;
  /** Marks the span as failed; the type of an error, not its message. */
  fail(error_type: string): void;
  end(): void;
  /** Runs `work` so that its spans are children of this one. */
  run<T>(work: () => T): T;
};

export type Tracing = {
  start(name: string, options: SpanOptions): OpenSpan;
  /** Null outside a span. */
  active(): ActiveSpan | null;
  /** Sends the spans that have ended, within 3 s; what then remains is lost. */
  close(): Promise<void>;
};

export type ActiveSpan = {
  readonly trace_id: string;
  readonly span_id: string;
  readonly traceparent: string;
  /** False when the sampler left the trace out. */
  readonly recording: boolean;
  set(attributes: SpanAttributes): void;
};

let tracing: Tracing | null = null;

/** Sets where spans of this process go; null ends the recording. */
export function useTracing(given: Tracing | null): void {
  tracing = given;
}

/** Returns where spans go; null when tracing is off. */
export function currentTracing(): Tracing | null {
  return tracing;
}

/** Runs `work` in a span, which fails if `work` throws; without tracing just runs it, with null. */
export function traced<T>(
  name: string,
  options: SpanOptions,
  work: (span: OpenSpan | null) => Promise<T>,
): Promise<T> {
  return tracing === null ? work(null) : runInSpan(tracing.start(name, options), work);
}

async function runInSpan<T>(
  span: OpenSpan,
  work: (span: OpenSpan | null) => Promise<T>,
): Promise<T> {
  try {
    return await span.run(() => work(span));
  } catch (error) {
    span.fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** Adds attributes to the active span, if there is one. */
export function describeSpan(attributes: SpanAttributes): void {
  tracing?.active()?.set(attributes);
}

/** Returns the active span for another process or a later time; undefined outside a span. */
export function traceparent(): string | undefined {
  return tracing?.active()?.traceparent;
}

/** Returns which of these joint causes a span continues (a recorded one, if there is one), and which it links to. */
export function jointCause(
  causes: readonly (string | undefined)[],
): Pick<SpanOptions, "parent" | "links"> {
  if (tracing === null) return {};
  const known = causes.filter((cause) => cause !== undefined);
  const recorded = known.filter((cause) => cause.endsWith("-01"));
  return { parent: recorded[0] ?? known[0] ?? null, links: recorded.slice(1) };
}

/** The fields by which log lines refer to the active span. */
export function traceFields(): { trace_id: string; span_id: string } | undefined {
  const active = tracing?.active();
  return active ? { trace_id: active.trace_id, span_id: active.span_id } : undefined;
}

/** Returns the function bound to the active span, for work that something else starts. */
export function keepSpan<F extends (...args: never[]) => unknown>(work: F): F {
  return tracing === null ? work : AsyncLocalStorage.bind(work);
}

/** Returns the code or the name of an error; its message may quote what users wrote. */
export function errorType(error: unknown): string {
  const { code, failure, type, name } = (error ?? {}) as Record<string, unknown>;
  const known = [failure, type, code, name].find(
    (text) => typeof text === "string" && /^\w[\w.-]{0,63}$/.test(text),
  );
  return (known as string | undefined) ?? "_OTHER";
}
