// Calls that wait in the application: incoming ones over a trunk, and those that agents dial on their phones.
import type { IncomingCall, VoiceEvent } from "../driver.ts";
import { ariPath, expectSuccess, type AriClient } from "./ari-client.ts";
import { idAtSwitch } from "./names.ts";
import type { AriChannel, AriEvent } from "./ari-events.ts";

/** Q.850: the carrier reports the number as busy. */
const user_busy = "17";

export type IncomingCalls = {
  onAriEvent(event: AriEvent, at: Date): void;
  /** Reports the waiting calls of a snapshot, once each: their start was missed. */
  onSnapshot(channels: readonly AriChannel[], at: Date): void;
  /**
   * See VoiceSession.answer. `gone`: the caller has hung up. `ended`: also, and the leg's end was reported, because
   * the event overtook the response.
   */
  answer(channel: string, leg: string): Promise<"answered" | "gone" | "ended">;
  /** See VoiceSession.refuse. */
  refuse(channel: string): Promise<void>;
};

/**
 * Emits `incoming` once for each call; refuses calls that agents dial at once. A refused call that a later snapshot
 * still shows is refused again, because the request may have failed.
 */
export function openIncomingCalls(
  client: AriClient,
  emit: (event: VoiceEvent) => void,
): IncomingCalls {
  const reported = new Set<string>();
  const refused = new Set<string>();
  const refuse = async (channel: string) => {
    refused.add(channel);
    const path = ariPath(["channels", channel], { reason_code: user_busy });
    expectSuccess("refusing a call", await client.call("DELETE", path), [404]);
  };
  const handle = (channel: AriChannel, args: readonly string[], at: Date) => {
    if (args[0] === "agent-dial" || refused.has(channel.id))
      void refuse(channel.id).catch(() => {});
    if (args[0] !== "inbound" || reported.has(channel.id) || client.aliases.has(channel.id)) return;
    reported.add(channel.id);
    emit({ type: "incoming", ...readCall(channel, args[1] ?? ""), at });
  };
  return {
    onAriEvent(event, at) {
      if (event.type === "ChannelDestroyed") {
        // The event names an answered call's channel by its leg.
        const channel = client.aliases.channelOf(event.channel.id);
        client.aliases.delete(channel);
        reported.delete(channel);
        refused.delete(channel);
      }
      if (event.type === "StasisStart") handle(event.channel, event.args ?? [], at);
    },
    onSnapshot(channels, at) {
      for (const channel of channels) {
        const args = argumentsOf(client.app, channel);
        if (args) handle(channel, args, at);
      }
    },
    async answer(channel, leg) {
      const legId = idAtSwitch(client.app, leg);
      // The next session knows the leg by this variable.
      const set = { variable: "CALL_ID", value: leg };
      const variable = ariPath(["channels", channel, "variable"], set);
      const named = await client.call("POST", variable);
      if (expectSuccess("naming an incoming call", named, [404]).status === 404) return "gone";
      client.aliases.add(channel, legId);
      const response = await client.call("POST", ariPath(["channels", channel, "answer"]));
      // 409, 412: the channel is about to end.
      const { status } = expectSuccess("answering a call", response, [404, 409, 412]);
      if (!client.aliases.has(channel)) return "ended";
      if (status < 300) return "answered";
      client.aliases.delete(channel);
      return "gone";
    },
    refuse,
  };
}

/** Whether the channel is an incoming call of the application, waiting or answered. */
export function isIncoming(app: string, channel: AriChannel): boolean {
  return argumentsOf(app, channel)?.[0] === "inbound";
}

/** Returns the arguments with which a channel entered the application; null if it is not in it. */
function argumentsOf(app: string, { dialplan }: AriChannel): readonly string[] | null {
  const [name, ...args] = dialplan?.app_data?.split(",") ?? [];
  return dialplan?.app_name === "Stasis" && name === app ? args : null;
}

function readCall({ id, name, caller }: AriChannel, to: string): IncomingCall {
  const endpoint = /^PJSIP\/(.+)-[0-9a-f]+$/.exec(name ?? "")?.[1] ?? "";
  return { channel: id, endpoint, from: caller?.number ?? "", to };
}
