// A real Asterisk, by its REST interface. What each call does there was seen on Asterisk 22; our
// dialplan and settings (asterisk/etc) belong to it.
import type { Log } from "../../../lib/log.ts";
import { systemRandom, type Random } from "../../../lib/random.ts";
import { VoiceError, type VoiceDriver, type VoiceNode } from "../driver.ts";
import { ariPath, expectDone, openAriClient, readStream, type AriSettings } from "./ari-client.ts";
import { idAtSwitch } from "./names.ts";
import { openSession } from "./open-session.ts";

const request_timeout_ms = 5_000;
const ping_ms = 1_500;

export type AsteriskOptions = {
  /** Of one request, from the queue to the last byte of the answer; 5 s unless given. */
  readonly request_timeout_ms?: number;
  /** Between two signs of life that a connection must give; one without three in a row is given up. */
  readonly ping_ms?: number;
  /** Spreads reconnections. */
  readonly random?: Random;
};

/** Opens the driver; it connects when a session is opened. */
export function openAsteriskDriver(log: Log, options: AsteriskOptions = {}): VoiceDriver {
  const limits = { request_timeout_ms, ping_ms, random: systemRandom, ...options };
  return {
    open: (node, hear, mayAct) =>
      openSession(node, settingsOf(node), hear, { log, mayAct, ...limits }),
    readRecording: (node, recording) =>
      readStream(
        settingsOf(node),
        ariPath(["recordings", "stored", idAtSwitch(settingsOf(node).app, recording), "file"]),
        limits.request_timeout_ms,
      ),
    async deleteRecording(node, recording) {
      const client = openAriClient(settingsOf(node), limits.request_timeout_ms);
      try {
        const path = ariPath(["recordings", "stored", idAtSwitch(client.app, recording)]);
        expectDone("deleting a recording", await client.call("DELETE", path), [404]);
      } finally {
        await client.close();
      }
    },
  };
}

function settingsOf(node: VoiceNode): AriSettings {
  if (node.ari) return node.ari;
  throw new VoiceError("refused", "the node is no Asterisk");
}
