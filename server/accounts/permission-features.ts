// Which features an account needs for a permission: those of the routes that the permission opens.
import type { Feature } from "./permissions.ts";

const calls = ["calls", "voice"] as const;

/** By the first word of a permission. The other permissions need no feature. */
const by_word: Readonly<Record<string, readonly Feature[]>> = {
  crm: ["crm"],
  chat: ["bulk_chat"],
  voice: ["voice"],
  calls,
  agents: calls,
  reports: ["bulk_chat", ...calls],
  installation: ["operator"],
};

/** Returns the features of which an account needs one for the permission; none if it needs none. */
export function featuresFor(permission: string): readonly Feature[] {
  return by_word[permission.split(".")[0]!] ?? [];
}
