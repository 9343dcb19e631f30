// The voice driver for Asterisk, controlled through ARI. It requires the dialplan and settings in asterisk/etc;
// the behavior of each request was observed on Asterisk 22.
import type { Log } from "../../../lib/log.ts";
import { systemRandom, type Random } from "../../../lib/random.ts";
import { VoiceError, type VoiceDriver, type VoiceNode } from "../driver.ts";
import {
  ariPath,
  bodyHas,
  expectSuccess,
  openAriClient,
  readStream,
  type AriSettings,
} from "./ari-client.ts";
import { idAtSwitch } from "./names.ts";
import { openSession } from "./open-session.ts";

const request_timeout_ms = 5_000;
const ping_ms = 1_500;

export type AsteriskOptions = {
  /** Time limit of one request, from the queue to the last byte of the response; 5 s by default. */
  readonly request_timeout_ms?: number;
  /** Interval of pings; a connection that is silent for three intervals is closed. 1.5 s by default. */
  readonly ping_ms?: number;
  /** Spreads reconnections. */
  readonly random?: Random;
};

/** Opens the driver. It connects when a session is opened. */
export function openAsteriskDriver(log: Log, options: AsteriskOptions = {}): VoiceDriver {
  const limits = { request_timeout_ms, ping_ms, random: systemRandom, ...options };
  return {
    open: (node, onEvent, maySend) =>
      openSession(node, settingsOf(node), onEvent, { log, maySend, ...limits }),
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
        const response = await client.call("DELETE", path);
        // For instance because of the file's permissions.
        if (response.status === 500 && bodyHas(response, "message", "Delete failed"))
          throw new VoiceError("refused", "the switch could not delete the recording");
        expectSuccess("deleting a recording", response, [404]);
      } finally {
        await client.close();
      }
    },
  };
}

function settingsOf(node: VoiceNode): AriSettings {
  if (node.ari) return node.ari;
  throw new VoiceError("refused", "the node has no ARI settings");
}
