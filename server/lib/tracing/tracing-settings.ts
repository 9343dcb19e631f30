const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio",
] as const;

/** Where spans are sent and which traces are recorded. */
export type TracingSettings = {
  /** Of the collector's OTLP/HTTP receiver, with the path. */
  readonly url: string;
  readonly sampler: {
    readonly name: (typeof samplers)[number];
    /** From 0 to 1. */
    readonly ratio: number;
  };
};

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Reads the standard variables of OpenTelemetry that begin the export; null without an endpoint. The exporter itself
 * reads those of its requests (headers, time-out, compression, certificates) and of the resource.
 */
export function tracingSettings(
  env: Env,
  violation: (text: string) => void,
): TracingSettings | null {
  const url = readEndpoint(env, violation);
  const isOff = env["OTEL_SDK_DISABLED"] === "true" || env["OTEL_TRACES_EXPORTER"] === "none";
  if (url === null || isOff) return null;
  const protocol = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"].find(
    (name) => env[name],
  );
  // A collector's HTTP receiver accepts both encodings, so that http/protobuf needs no other setting.
  if (protocol && !/^http\/(?:json|protobuf)$/.test(env[protocol]!))
    violation(`${protocol}: "${env[protocol]}" must be http/json; traces are sent over HTTP`);
  return { url, sampler: readSampler(env, violation) };
}

function readEndpoint(env: Env, violation: (text: string) => void): string | null {
  const own = env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"]?.trim();
  const shared = env["OTEL_EXPORTER_OTLP_ENDPOINT"]?.trim();
  const name = own ? "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT" : "OTEL_EXPORTER_OTLP_ENDPOINT";
  const given = own || shared;
  if (!given) return null;
  // Not echoed: it may contain a password.
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    violation(`${name}: must be an http(s) address, such as http://127.0.0.1:4318`);
    return null;
  }
  return own ? given : `${given.replace(/\/+$/, "")}/v1/traces`;
}

function readSampler(env: Env, violation: (text: string) => void): TracingSettings["sampler"] {
  const text = env["OTEL_TRACES_SAMPLER"] || "parentbased_always_on";
  const name = samplers.find((sampler) => sampler === text);
  if (!name) violation(`OTEL_TRACES_SAMPLER: "${text}" must be one of ${samplers.join(", ")}`);
  const argument = env["OTEL_TRACES_SAMPLER_ARG"]?.trim() || "1";
  const ratio = Number(argument);
  if (name?.endsWith("ratio") && !(ratio >= 0 && ratio <= 1))
    violation(`OTEL_TRACES_SAMPLER_ARG: "${argument}" must be a number from 0 to 1`);
  return { name: name ?? "parentbased_always_on", ratio };
}
