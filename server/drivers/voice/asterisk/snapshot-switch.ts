// Reads Trunkline's channels and bridges from an Asterisk.
import { VoiceError, type LiveLeg, type SwitchSnapshot } from "../driver.ts";
import { ariPath, expectSuccess, type AriClient } from "./ari-client.ts";
import type { AriChannel } from "./ari-events.ts";
import { isIncoming } from "./incoming-calls.ts";
import { idAtSwitch, isMedia, ownName } from "./names.ts";

/** Adds each leg's bridge and the IDs of external media channels. */
export type SwitchState = SwitchSnapshot & {
  readonly bridge_of: ReadonlyMap<string, string>;
  readonly media: readonly string[];
  /** All channels of the switch. */
  readonly channels: readonly AriChannel[];
};

/**
 * Returns the application's channels and bridges. `rings` returns whether a leg's far end rings, which the
 * channel's state does not always show. Throws VoiceError.
 */
export async function snapshotSwitch(
  client: AriClient,
  rings: (leg: string) => boolean,
): Promise<SwitchState> {
  const [epoch, channels, bridges] = await Promise.all([
    readEpoch(client),
    readList<AriChannel>(client, "channels"),
    readList<AriBridge>(client, "bridges"),
  ]);
  const legs = channels.flatMap((channel) => readLeg(client, channel, rings) ?? []);
  const own = bridges.flatMap(({ id, channels: members = [] }) => {
    const bridge = ownName(client.app, id);
    return bridge === null ? [] : [{ bridge, members }];
  });
  return {
    epoch,
    legs,
    bridges: own.map(({ bridge }) => bridge),
    bridge_of: new Map(
      own.flatMap(({ bridge, members }) =>
        members.map((id) => [ownName(client.app, client.aliases.ownId(id)) ?? "", bridge] as const),
      ),
    ),
    channels,
    media: channels.flatMap(({ id }) => (isMedia(client.app, id) ? id : [])),
  };
}

type AriBridge = { readonly id: string; readonly channels?: readonly string[] };

/** Returns when Asterisk started, which identifies its run. Throws VoiceError. */
export async function readEpoch(client: AriClient): Promise<string> {
  const response = await client.call("GET", ariPath(["asterisk", "info"], { only: "status" }));
  const info = expectSuccess("reading the start time of the switch", response).body as {
    status?: { startup_time?: unknown };
  } | null;
  const epoch = info?.status?.startup_time;
  if (typeof epoch === "string" && epoch !== "") return epoch;
  throw new VoiceError("unknown", "the switch did not return its start time");
}

async function readList<Item>(client: AriClient, resource: string): Promise<readonly Item[]> {
  const { body } = expectSuccess(
    `listing ${resource}`,
    await client.call("GET", ariPath([resource])),
  );
  if (Array.isArray(body)) return body as Item[];
  throw new VoiceError("unknown", `the switch did not return a list of ${resource}`);
}

/** An incoming call's channel was answered as a leg if it has the leg's name, perhaps by an earlier session. */
function addAlias({ app, aliases }: AriClient, channel: AriChannel): void {
  const name = channel.channelvars?.["CALL_ID"] ?? "";
  if (isIncoming(app, channel) && leg_name.test(name) && !aliases.has(channel.id))
    aliases.add(channel.id, idAtSwitch(app, name));
}

const leg_name = /^trk-\d+-\d+-\d+$/;

function readLeg(
  client: AriClient,
  channel: AriChannel,
  rings: (leg: string) => boolean,
): LiveLeg | null {
  addAlias(client, channel);
  const own_id = client.aliases.ownId(channel.id);
  const leg = ownName(client.app, own_id);
  if (leg === null) return null;
  const call =
    own_id !== channel.id
      ? leg.replace(/-\d+$/, "")
      : channel.channelvars?.["CALL_ID"] || leg.replace(/-\d+$/, "");
  if (channel.state === "Up") return { leg, call, state: "answered" };
  const isRinging = channel.state === "Ringing" || rings(leg);
  return { leg, call, state: isRinging ? "ringing" : "dialing" };
}
