// Two-way audio with a leg through an external media channel. Asterisk is the server of the channel's
// WebSocket, on the port of ARI, so that any machine can lead the node.
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { WebSocket } from "ws";
import type { CallMedia } from "../../call-media.ts";
import { VoiceError } from "../driver.ts";
import {
  ariPath,
  authorization,
  expectSuccess,
  type AriClient,
  type AriSettings,
} from "./ari-client.ts";
import { openSampleStream } from "./stream-samples.ts";
import { idAtSwitch, mediaId } from "./names.ts";

const message_bytes_max = 65_536;

export type MediaChannels = {
  /**
   * See VoiceSession.openMedia. `addToBridge` adds the leg and the channel, given by its ID, to their
   * bridge. Throws VoiceError.
   */
  open(leg: string, addToBridge: (channel: string) => Promise<void>): Promise<CallMedia>;
  /** Returns whether this session opened the channel. */
  isOpen(channel: string): boolean;
  closeOf(leg: string): void;
  closeAll(): void;
};

/** `handshake_timeout_ms` limits the time to connect. */
export function openMediaChannels(
  client: AriClient,
  ari: AriSettings,
  handshake_timeout_ms: number,
): MediaChannels {
  const live = new Map<string, { readonly leg: string; readonly media: CallMedia }>();
  const closeWhere = (matches: (leg: string) => boolean) => {
    // If the hangup fails, the channel ends with its connection.
    for (const { leg, media } of live.values()) if (matches(leg)) media.close().catch(() => {});
  };
  return {
    async open(leg, addToBridge) {
      const channel = mediaId(client.app, randomUUID());
      const stream = openSampleStream();
      const media = { ...stream.media, close: () => close() };
      const close = async () => {
        stream.end();
        await hangUpChannel(client, channel);
      };
      live.set(channel, { leg, media });
      void media.closed.then(() => live.delete(channel));
      try {
        if (!(await exists(client, leg))) {
          stream.end();
          return media;
        }
        stream.attach(
          await connect(ari, await createChannel(client, channel), handshake_timeout_ms),
        );
        await addToBridge(channel);
      } catch (error) {
        await close().catch(() => {});
        throw error;
      }
      return media;
    },
    isOpen: (channel) => live.has(channel),
    closeOf: (leg) => closeWhere((one) => one === leg),
    closeAll: () => closeWhere(() => true),
  };
}

/** Throws VoiceError. */
export async function hangUpChannel(client: AriClient, channel: string): Promise<void> {
  expectSuccess("hanging up", await client.call("DELETE", ariPath(["channels", channel])), [404]);
}

async function exists(client: AriClient, leg: string): Promise<boolean> {
  const path = ariPath(["channels", idAtSwitch(client.app, leg)]);
  return expectSuccess("reading a leg", await client.call("GET", path), [404]).status !== 404;
}

/** Creates the channel and returns the ID of its WebSocket connection. */
async function createChannel(client: AriClient, channel: string): Promise<string> {
  const path = ariPath(["channels", "externalMedia"], {
    channelId: channel,
    app: client.app,
    external_host: "INCOMING",
    transport: "websocket",
    encapsulation: "none",
    connection_type: "server",
    format: "slin",
    // Overrides the command format of chan_websocket.conf.
    transport_data: "f(json)",
  });
  const response = await client.call("POST", path);
  const variables = (response.body as { channelvars?: Record<string, unknown> } | null)
    ?.channelvars;
  const connection = variables?.["MEDIA_WEBSOCKET_CONNECTION_ID"];
  if (response.status < 300 && typeof connection === "string") return connection;
  throw new VoiceError(
    "refused",
    `the switch did not create a media channel: it returned ${response.status}`,
  );
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
    throw new VoiceError("unreachable", "could not connect to the media channel", { cause });
  }
  return socket;
}
