// Asterisk chooses the ID of an incoming call's channel, and it cannot be changed. Everything else knows the channel by
// the ID of its leg: the two are exchanged where requests are sent and events and lists are read.
import type { AriChannel, AriEvent } from "./ari-events.ts";

export type ChannelAliases = {
  /** Adds a channel of the switch under its leg's ID at the switch. */
  add(channel: string, legId: string): void;
  has(channel: string): boolean;
  delete(channel: string): void;
  clear(): void;
  /** Returns the channel's ID at the switch of a leg's ID. */
  channelOf(legId: string): string;
  /** Returns the leg's ID of a channel; any other ID as it is. */
  ownId(channel: string): string;
  /** Replaces leg IDs in a request's path. */
  toSwitch(path: string): string;
  /** Replaces channel IDs in an event. */
  fromSwitch(event: AriEvent): AriEvent;
};

/** A leg's ID in a path: a path segment, or the value of `channel`. */
const leg_id = /(?<=[/=])trk-\d+-\d+-\d+_[^/?&]+/g;

export function openChannelAliases(): ChannelAliases {
  const legs = new Map<string, string>();
  const channels = new Map<string, string>();
  const ownId = (channel: string) => legs.get(channel) ?? channel;
  const renamed = (channel: AriChannel) => ({ ...channel, id: ownId(channel.id) });
  return {
    add(channel, legId) {
      legs.set(channel, legId);
      channels.set(legId, channel);
    },
    has: (channel) => legs.has(channel),
    delete(channel) {
      channels.delete(ownId(channel));
      legs.delete(channel);
    },
    clear() {
      legs.clear();
      channels.clear();
    },
    channelOf: (legId) => channels.get(legId) ?? legId,
    ownId,
    toSwitch: (path) =>
      channels.size === 0
        ? path
        : path.replaceAll(leg_id, (id) => {
            const channel = channels.get(decodeURIComponent(id));
            return channel === undefined ? id : encodeURIComponent(channel);
          }),
    fromSwitch(event) {
      if (legs.size === 0) return event;
      if ("channel" in event) return { ...event, channel: renamed(event.channel) };
      if (event.type === "PlaybackFinished")
        return {
          ...event,
          playback: { ...event.playback, target_uri: targetOf(event.playback.target_uri, ownId) },
        };
      return event;
    },
  };
}

function targetOf(target_uri: string, ownId: (channel: string) => string): string {
  const [, channel] = /^channel:(.+)$/.exec(target_uri) ?? [];
  return channel === undefined ? target_uri : `channel:${ownId(channel)}`;
}
