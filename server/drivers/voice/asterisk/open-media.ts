// Sound both ways with a leg, by a channel of Asterisk's own whose far end is a WebSocket. Asterisk is
// the server of it, on the port of ARI: so it works from whichever machine leads the node.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import type { CallMedia } from "../../call-media.ts";
import { VoiceError } from "../driver.ts";
import {
  ariPath,
  authorization,
  expectDone,
  type AriClient,
  type AriSettings,
} from "./ari-client.ts";
import { carrySamples } from "./carry-samples.ts";
import { idAtSwitch, mediaId } from "./names.ts";

const message_bytes_max = 65_536;

export type MediaChannels = {
  /**
   * See VoiceSession.openMedia. `join` puts the leg and the channel, which is named by its id, into
   * their bridge. Throws VoiceError.
   */
  open(leg: string, join: (channel: string) => Promise<void>): Promise<CallMedia>;
  /** Whether the channel is of this session. */
  isOpen(channel: string): boolean;
  closeOf(leg: string): void;
  closeAll(): void;
};

/** `handshake_timeout_ms`: so long a connection may take to stand. */
export function openMediaChannels(
  client: AriClient,
  ari: AriSettings,
  handshake_timeout_ms: number,
): MediaChannels {
  const live = new Map<string, { readonly leg: string; readonly media: CallMedia }>();
  const closeThose = (isMeant: (leg: string) => boolean) => {
    // A channel that could not be hung up ends with its connection.
    for (const { leg, media } of live.values()) if (isMeant(leg)) media.close().catch(() => {});
  };
  return {
    async open(leg, join) {
      const channel = mediaId(client.app, randomUUID());
      const carrier = carrySamples();
      const media = { ...carrier.media, close: () => close() };
      const close = async () => {
        carrier.end();
        await hangUpChannel(client, channel);
      };
      live.set(channel, { leg, media });
      void media.closed.then(() => live.delete(channel));
      try {
        if (!(await isThere(client, leg))) {
          carrier.end();
          return media;
        }
        carrier.use(await connect(ari, await makeChannel(client, channel), handshake_timeout_ms));
        await join(channel);
      } catch (error) {
        await close().catch(() => {});
        throw error;
      }
      return media;
    },
    isOpen: (channel) => live.has(channel),
    closeOf: (leg) => closeThose((one) => one === leg),
    closeAll: () => closeThose(() => true),
  };
}

/** Throws VoiceError. */
export async function hangUpChannel(client: AriClient, channel: string): Promise<void> {
  expectDone("hanging up", await client.call("DELETE", ariPath(["channels", channel])), [404]);
}

async function isThere(client: AriClient, leg: string): Promise<boolean> {
  const path = ariPath(["channels", idAtSwitch(client.app, leg)]);
  return expectDone("reading a leg", await client.call("GET", path), [404]).status !== 404;
}

/** What its connection is called. */
async function makeChannel(client: AriClient, channel: string): Promise<string> {
  const path = ariPath(["channels", "externalMedia"], {
    channelId: channel,
    app: client.app,
    external_host: "INCOMING",
    transport: "websocket",
    encapsulation: "none",
    connection_type: "server",
    format: "slin",
    // Whatever its chan_websocket.conf says of the form of commands.
    transport_data: "f(json)",
  });
  const answer = await client.call("POST", path);
  const variables = (answer.body as { channelvars?: Record<string, unknown> } | null)?.channelvars;
  const connection = variables?.["MEDIA_WEBSOCKET_CONNECTION_ID"];
  if (answer.status < 300 && typeof connection === "string") return connection;
  throw new VoiceError("refused", `the switch has no media for us: it answered ${answer.status}`);
}

async function connect(
  ari: AriSettings,
  connection: string,
  handshake_timeout_ms: number,
): Promise<WebSocket> {
  const base = ari.url.replace(/^http/, "ws").replace(/\/ari$/, "");
  const socket = new WebSocket(`${base}/media/${encodeURIComponent(connection)}`, "media", {
    headers: { authorization: authorization(ari) },
    handshakeTimeout: handshake_timeout_ms,
    maxPayload: message_bytes_max,
    perMessageDeflate: false,
  });
  try {
    await once(socket, "open");
  } catch (cause) {
    throw new VoiceError("unreachable", "the switch's media did not connect", { cause });
  }
  return socket;
}
