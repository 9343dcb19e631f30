// Calls that wait in the application: incoming ones over a trunk, and those that agents dial on their phones.
import type { IncomingCall, VoiceEvent } from "../driver.ts";
import { ariPath, expectSuccess, type AriClient } from "./ari-client.ts";
import type { AriChannel, AriEvent } from "./ari-events.ts";

/** Q.850: the carrier reports the number as busy. */
const user_busy = "17";

export type IncomingCalls = {
  onAriEvent(event: AriEvent, at: Date): void;
  /** Reports the waiting calls of a snapshot, once each: their start was missed. */
  onSnapshot(channels: readonly AriChannel[], at: Date): void;
  /** See VoiceSession.refuse. */
  refuse(channel: string): Promise<void>;
};

/** Emits `incoming` once for each call; refuses calls that agents dial at once. */
export function openIncomingCalls(
  client: AriClient,
  emit: (event: VoiceEvent) => void,
): IncomingCalls {
  const reported = new Set<string>();
  const refuse = async (channel: string) => {
    const path = ariPath(["channels", channel], { reason_code: user_busy });
    expectSuccess("refusing a call", await client.call("DELETE", path), [404]);
  };
  const handle = (channel: AriChannel, args: readonly string[], at: Date) => {
    if (args[0] === "agent-dial") void refuse(channel.id).catch(() => {});
    if (args[0] !== "inbound" || reported.has(channel.id)) return;
    reported.add(channel.id);
    emit({ type: "incoming", ...readCall(channel, args[1] ?? ""), at });
  };
  return {
    onAriEvent(event, at) {
      if (event.type === "ChannelDestroyed") reported.delete(event.channel.id);
      if (event.type === "StasisStart") handle(event.channel, event.args ?? [], at);
    },
    onSnapshot(channels, at) {
      for (const channel of channels) {
        const [app, ...args] = channel.dialplan?.app_data?.split(",") ?? [];
        const isWaiting = channel.dialplan?.app_name === "Stasis" && app === client.app;
        if (isWaiting) handle(channel, args, at);
      }
    },
    refuse,
  };
}

function readCall({ id, name, caller }: AriChannel, to: string): IncomingCall {
  const endpoint = /^PJSIP\/(.+)-[0-9a-f]+$/.exec(name ?? "")?.[1] ?? "";
  return { channel: id, endpoint, from: caller?.number ?? "", to };
}
