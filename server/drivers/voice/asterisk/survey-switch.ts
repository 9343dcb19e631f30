// What there is of ours at an Asterisk.
import { VoiceError, type LiveLeg, type Survey } from "../driver.ts";
import { ariPath, expectDone, type AriClient } from "./ari-client.ts";
import type { AriChannel } from "./ari-events.ts";
import { isMedia, ownName } from "./names.ts";

/** Beside what is told: the bridge of each leg, and the channels (by id) that carry sound to a service. */
export type Seen = Survey & {
  readonly bridge_of: ReadonlyMap<string, string>;
  readonly media: readonly string[];
};

/**
 * The channels and bridges of ours. `rings`: of a leg, whether its far end gave a sign, which its
 * state does not always show. Throws VoiceError.
 */
export async function surveySwitch(
  client: AriClient,
  rings: (leg: string) => boolean,
): Promise<Seen> {
  const [epoch, channels, bridges] = await Promise.all([
    readEpoch(client),
    readList<AriChannel>(client, "channels"),
    readList<AriBridge>(client, "bridges"),
  ]);
  const own = bridges.flatMap(({ id, channels: members = [] }) => {
    const bridge = ownName(client.app, id);
    return bridge === null ? [] : [{ bridge, members }];
  });
  return {
    epoch,
    legs: channels.flatMap((channel) => readLeg(client.app, channel, rings) ?? []),
    bridges: own.map(({ bridge }) => bridge),
    bridge_of: new Map(
      own.flatMap(({ bridge, members }) =>
        members.map((id) => [ownName(client.app, id) ?? "", bridge] as const),
      ),
    ),
    media: channels.flatMap(({ id }) => (isMedia(client.app, id) ? id : [])),
  };
}

type AriBridge = { readonly id: string; readonly channels?: readonly string[] };

/** When the Asterisk started. Throws VoiceError. */
export async function readEpoch(client: AriClient): Promise<string> {
  const answer = await client.call("GET", ariPath(["asterisk", "info"], { only: "status" }));
  const info = expectDone("asking when the switch started", answer).body as {
    status?: { startup_time?: unknown };
  } | null;
  const epoch = info?.status?.startup_time;
  if (typeof epoch === "string" && epoch !== "") return epoch;
  throw new VoiceError("unknown", "the switch does not say when it started");
}

async function readList<Item>(client: AriClient, what: string): Promise<readonly Item[]> {
  const { body } = expectDone(`listing ${what}`, await client.call("GET", ariPath([what])));
  if (Array.isArray(body)) return body as Item[];
  throw new VoiceError("unknown", `the switch did not list its ${what}`);
}

function readLeg(
  app: string,
  channel: AriChannel,
  rings: (leg: string) => boolean,
): LiveLeg | null {
  const leg = ownName(app, channel.id);
  if (leg === null) return null;
  const call = channel.channelvars?.["CALL_ID"] || leg.replace(/-\d+$/, "");
  if (channel.state === "Up") return { leg, call, state: "answered" };
  const isRinging = channel.state === "Ringing" || rings(leg);
  return { leg, call, state: isRinging ? "ringing" : "dialing" };
}
