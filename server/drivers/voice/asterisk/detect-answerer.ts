import { ariPath, expectDone, type AriClient } from "./ari-client.ts";
import { idAtSwitch } from "./names.ts";
import { whenHandedOver } from "./when-handed-over.ts";

/**
 * Sends the leg to the context `amd` of our dialplan, which listens and hands it back with what it
 * found; false when it is gone. Throws VoiceError.
 */
export async function detectAnswerer(client: AriClient, leg: string): Promise<boolean> {
  const path = ariPath(["channels", idAtSwitch(client.app, leg), "continue"], {
    context: "amd",
    extension: "s",
    priority: "1",
  });
  const answer = await whenHandedOver(() => client.call("POST", path), [409]);
  return expectDone("listening for who answered", answer, [404]).status !== 404;
}
