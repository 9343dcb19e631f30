// Asks an agent outside the switch to press 1.
import { findAudio } from "../../audio/audio-files.ts";
import { VoiceError } from "../../../drivers/voice/driver.ts";
import { bytes_per_ms, type Audio } from "../../../lib/audio/audio.ts";
import { acceptName } from "../../state-machine/call.ts";
import { findLeg } from "../../state-machine/legs.ts";
import type { Leader, LiveCall } from "../node/leader.ts";
import { playInOrder } from "./play-in-order.ts";
import { createHash } from "node:crypto";

/** How often the agent is asked. */
const times = 3;
const pause_ms = 4_000;

const pause: Audio = {
  owner: "trunkline",
  name: createHash("sha256").update(`${pause_ms} ms of silence`).digest("hex"),
  duration_ms: pause_ms,
  read: async () => Buffer.alloc(pause_ms * bytes_per_ms),
};

/** Plays the account's prompt three times, each followed by a pause for the key. */
export function askToAccept(leader: Leader, live: LiveCall, leg: number): void {
  const { account_id, settings } = live.call;
  const { name } = settings.accept_audio!;
  const prompt = async () => {
    const audio = await findAudio(leader.app.db.query, account_id, name);
    if (!audio) throw new VoiceError("refused", `the audio ${name} no longer exists`);
    return audio;
  };
  playInOrder(leader, live, {
    leg,
    playback: acceptName(live.call, { id: leg }),
    audio: Array.from({ length: times }, () => [prompt, async () => pause]).flat(),
    isWanted: () => findLeg(live.call, leg)?.state === "accepting",
  });
}
