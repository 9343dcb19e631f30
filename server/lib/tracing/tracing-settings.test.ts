import assert from "node:assert/strict";
import { test } from "node:test";
import { tracingSettings } from "./tracing-settings.ts";

const endpoint = "http://10.0.0.7:4318";

function read(env: Record<string, string>) {
  const violations: string[] = [];
  const settings = tracingSettings(env, (text) => violations.push(text));
  return { settings, violations };
}

test("traces are off without an endpoint, and when OpenTelemetry is disabled", () => {
  const off = { settings: null, violations: [] };
  assert.deepEqual(read({}), off);
  assert.deepEqual(read({ OTEL_TRACES_SAMPLER: "always_on" }), off);
  assert.deepEqual(read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_SDK_DISABLED: "true" }), off);
  assert.deepEqual(
    read({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_EXPORTER: "none" }),
    off,
  );
});

test("the endpoint of traces precedes that of all signals, to which the path is appended", () => {
  const shared = { OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/` };
  assert.equal(read(shared).settings?.url, `${endpoint}/v1/traces`);
  const own = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "https://tempo.example/otlp" };
  assert.equal(read({ ...shared, ...own }).settings?.url, "https://tempo.example/otlp");
});

test("reports every invalid setting, without the address, which may contain a password", () => {
  const { violations } = read({ OTEL_EXPORTER_OTLP_ENDPOINT: "user:secret@collector" });
  assert.deepEqual(violations, [
    "OTEL_EXPORTER_OTLP_ENDPOINT: must be an http(s) address, such as http://127.0.0.1:4318",
  ]);
  const more = read({
    OTEL_EXPORTER_OTLP_ENDPOINT: endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
    OTEL_TRACES_SAMPLER: "traceidratio",
    OTEL_TRACES_SAMPLER_ARG: "10%",
  });
  assert.deepEqual(more.violations, [
    'OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" must be http/json; traces are sent over HTTP',
    'OTEL_TRACES_SAMPLER_ARG: "10%" must be a number from 0 to 1',
  ]);
});
