// A server of the OpenAI Realtime protocol, as a test wants it: it hears by the energy of the sound, and says tones.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { WebSocketServer } from "ws";
import { openStubConnection, type StubConnection } from "./realtime-stub-connection.ts";

export type StubAnswer = {
  /** In words; nothing is said without. */
  readonly say?: string;
  /** How long the tone of it is; 1,000 unless given. */
  readonly tone_ms?: number;
  /** How high it is; 440 unless given. */
  readonly hz?: number;
  readonly call?: { readonly name: string; readonly args: unknown };
  /** It could not be given. */
  readonly fails?: boolean;
  /** Its sound is sent, its end only by the connection's `release`. */
  readonly held?: boolean;
};

/** What an answer is to: instructions, a text of the user, what a function gave, or speech in words. */
export type StubPrompt = {
  readonly kind: "instructions" | "text" | "function" | "speech";
  readonly text: string;
};

export type StubFormat = { readonly type: string; readonly rate?: number };

export type StubScript = {
  readonly answer: (prompt: StubPrompt) => StubAnswer;
  /** What speech is understood as. */
  readonly understand: () => string;
  /** The format that is given to one that asked for `asked`; null: the settings are refused. */
  readonly grant: (asked: StubFormat) => StubFormat | null;
  /** It connects and never says a word. */
  readonly mute: boolean;
  /** The HTTP status of the handshake instead of a connection. */
  readonly refuse: number | null;
};

export type RealtimeStub = {
  /** Without a model. */
  readonly url: string;
  /** In the order they came. */
  readonly connections: readonly StubConnection[];
  readonly last: () => StubConnection;
  /** Changes what it does from now on. */
  readonly script: (change: Partial<StubScript>) => void;
  /** What clients did against the protocol. */
  readonly faults: () => readonly string[];
  readonly close: () => Promise<void>;
};

const usual: StubScript = {
  answer: () => ({ say: "Good day." }),
  understand: () => "something",
  grant: (asked) => asked,
  mute: false,
  refuse: null,
};

/** Starts it on a free port of 127.0.0.1. */
export async function startRealtimeStub(first: Partial<StubScript> = {}): Promise<RealtimeStub> {
  let script = { ...usual, ...first };
  const connections: StubConnection[] = [];
  const http = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  http.on("upgrade", (request, socket, head) => {
    if (script.refuse !== null) {
      socket.end(`HTTP/1.1 ${script.refuse} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
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
      if (!found) throw new Error("nobody connected to the stub");
      return found;
    },
    script: (change) => void (script = { ...script, ...change }),
    faults: () => connections.flatMap(({ faults }) => faults),
    async close() {
      for (const client of sockets.clients) client.terminate();
      http.close();
      await once(http, "close");
    },
  };
}
