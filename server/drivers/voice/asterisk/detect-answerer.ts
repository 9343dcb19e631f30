import { ariPath, expectSuccess, type AriClient } from "./ari-client.ts";
import { idAtSwitch } from "./names.ts";
import { retryUntilInStasis } from "./retry-until-in-stasis.ts";

/**
 * Sends the leg to the dialplan context `amd`, which runs AMD and returns it with the result. Returns false
 * when the leg has ended. Throws VoiceError.
 */
export async function detectAnswerer(client: AriClient, leg: string): Promise<boolean> {
  const path = ariPath(["channels", idAtSwitch(client.app, leg), "continue"], {
    context: "amd",
    extension: "s",
    priority: "1",
  });
  const response = await retryUntilInStasis(() => client.call("POST", path), [409]);
  return expectSuccess("starting AMD", response, [404]).status !== 404;
}
