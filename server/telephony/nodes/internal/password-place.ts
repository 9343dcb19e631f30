import type { SecretPlace } from "../../../lib/secrets/secrets.ts";

/** Returns where a node's ARI password is stored. */
export function passwordPlace(id: number): SecretPlace {
  return { column: "voice_nodes.ari_password", account_id: 0, id };
}
