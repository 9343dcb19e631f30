// The request that added a job, for traces. Part of the payload, so that it needs no statement and no column.
import { traceparent, type SpanOptions } from "../lib/tracing/tracing.ts";

const key = "trace";
/** A job that runs later, such as the start of a scheduled campaign, begins a trace of its own with a link. */
const same_trace_ms = 60_000;

type Cause = { readonly traceparent: string; readonly at: number };

/** Adds the active span to a payload; without tracing the payload stays as it is. */
export function withCause(payload: unknown): unknown {
  const active = traceparent();
  if (active === undefined) return payload;
  const cause: Cause = { traceparent: active, at: Date.now() };
  return { ...(payload as object), [key]: cause };
}

/** Returns the payload that the handler gets, and where the span of the run belongs. */
export function takeCause(stored: unknown): {
  readonly payload: unknown;
  readonly place: Pick<SpanOptions, "parent" | "links">;
} {
  const { [key]: cause, ...payload } = (stored ?? {}) as { readonly trace?: Cause };
  if (cause === undefined) return { payload: stored, place: { parent: null } };
  const isSoon = Date.now() - cause.at < same_trace_ms;
  const place = isSoon
    ? { parent: cause.traceparent }
    : { parent: null, links: [cause.traceparent] };
  return { payload, place };
}
