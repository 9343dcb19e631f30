// A scripted server of the OpenAI Realtime protocol: detects speech by its energy and speaks in tones.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { openStubConnection, type StubConnection } from "./realtime-stub-connection.ts";

export type StubAnswer = {
  /** The transcript; without it, no audio is sent. */
  readonly say?: string;
  /** The duration of its tone; 1,000 by default. */
  readonly tone_ms?: number;
  /** The frequency of its tone; 440 by default. */
  readonly hz?: number;
  readonly call?: { readonly name: string; readonly args: unknown };
  /** The response fails. */
  readonly fails?: boolean;
  /** Its audio is sent, but it ends only by the connection's `release`. */
  readonly held?: boolean;
};

/** What the stub responds to: instructions, a text of the user, a function's output, or a speech transcript. */
export type StubPrompt = {
  readonly kind: "instructions" | "text" | "function" | "speech";
  readonly text: string;
};

export type StubFormat = { readonly type: string; readonly rate?: number };

export type StubScript = {
  /** Null: nothing is sent, because the test sends the response itself. */
  readonly answer: (prompt: StubPrompt) => StubAnswer | null;
  /** The transcript of the next speech. */
  readonly transcribe: () => string;
  /** The format granted for the requested one; null: the settings are rejected. */
  readonly grant: (requested: StubFormat) => StubFormat | null;
  /** Accepts connections and never sends an event. */
  readonly silent: boolean;
  /** The HTTP status that rejects the handshake; null: accepted. */
  readonly reject: number | null;
};

export type RealtimeStub = {
  /** The URL without a model. */
  readonly url: string;
  /** In the order of their arrival. */
  readonly connections: readonly StubConnection[];
  readonly last: () => StubConnection;
  /** Changes the script from now on. */
  readonly script: (change: Partial<StubScript>) => void;
  /** The protocol violations of clients. */
  readonly violations: () => readonly string[];
  readonly close: () => Promise<void>;
};

const default_script: StubScript = {
  answer: () => ({ say: "Good day." }),
  transcribe: () => "something",
  grant: (requested) => requested,
  silent: false,
  reject: null,
};

/** Starts the stub on a free port of 127.0.0.1. */
export async function startRealtimeStub(first: Partial<StubScript> = {}): Promise<RealtimeStub> {
  let script = { ...default_script, ...first };
  const connections: StubConnection[] = [];
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  http.on("upgrade", (request, socket, head) => {
    if (script.reject !== null) {
      socket.end(
        `HTTP/1.1 ${script.reject} Rejected\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`,
      );
      return;
    }
    sockets.handleUpgrade(request, socket, head, (client) => {
      const { searchParams } = new URL(request.url ?? "/", "http://stub");
      const model = searchParams.get("model");
      const { authorization = null } = request.headers;
      const order = connections.length + 1;
      connections.push(
        openStubConnection(client, { model, authorization, order, script: () => script }),
      );
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  return {
    url: `ws://127.0.0.1:${(http.address() as AddressInfo).port}/v1/realtime`,
    connections,
    last() {
      const found = connections.at(-1);
      if (!found) throw new Error("the stub has no connection");
      return found;
    },
    script: (change) => void (script = { ...script, ...change }),
    violations: () => connections.flatMap(({ violations }) => violations),
    async close() {
      for (const client of sockets.clients) client.terminate();
      http.close();
      await once(http, "close");
    },
  };
}
