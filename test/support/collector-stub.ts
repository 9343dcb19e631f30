// A stub of an OpenTelemetry collector: a real HTTP server that receives traces as OTLP/JSON.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

export type ReceivedSpan = {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  /** 2: server, 3: client, 5: consumer. */
  readonly kind: number;
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly status: { readonly code?: number };
  /** By name. */
  readonly attributes: Readonly<Record<string, string | number | boolean>>;
};

export type CollectorStub = {
  /** The value of OTEL_EXPORTER_OTLP_ENDPOINT. */
  readonly endpoint: string;
  /** Everything it has received, as it arrived: the paths, the headers and the bodies. */
  received(): string;
  spans(): readonly ReceivedSpan[];
  /** Attributes of the process that sent spans, by name. */
  resource(): ReceivedSpan["attributes"];
  close(): Promise<void>;
};

type Attribute = {
  readonly key: string;
  readonly value: Readonly<Record<string, string | number | boolean>>;
};
type Body = {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly (Omit<ReceivedSpan, "attributes"> & {
        readonly attributes: readonly Attribute[];
      })[];
    }[];
  }[];
};

/** Starts the stub on 127.0.0.1; it answers every request with `status`, or never if that is null. */
export async function openCollectorStub(status: number | null = 200): Promise<CollectorStub> {
  const bodies: Body[] = [];
  let received = "";
  const server = createServer((request, response) => {
    const take = async () => {
      const body = await text(request);
      received += `${request.url} ${JSON.stringify(request.headers)}\n${body}\n`;
      bodies.push(JSON.parse(body) as Body);
      if (status !== null) response.writeHead(status).end("{}");
    };
    void take();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    received: () => received,
    spans: () =>
      bodies.flatMap(({ resourceSpans }) =>
        resourceSpans.flatMap(({ scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) =>
            spans.map((span) => ({ ...span, attributes: byName(span.attributes) })),
          ),
        ),
      ),
    resource: () => byName(bodies[0]?.resourceSpans[0]?.resource.attributes ?? []),
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function byName(attributes: readonly Attribute[]): ReceivedSpan["attributes"] {
  return Object.fromEntries(
    attributes.map(({ key, value }) => [key, Object.values(value)[0] ?? ""] as const),
  );
}
