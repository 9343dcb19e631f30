// Which parts of a person's history a caller may see: each part needs its own feature and permission.
import type { Caller } from "../accounts/caller.ts";
import { maySee, type Need } from "../accounts/may-see.ts";
import type { Permission } from "../accounts/permissions.ts";

const needs = {
  leads: { features: ["crm"], anyOf: ["crm.read"] },
  messages: { features: ["bulk_chat"], anyOf: ["chat.read"] },
  calls: { features: ["calls", "voice"], anyOf: ["calls.read", "calls.manage"] },
  suppressions: { anyOf: ["suppressions.read", "suppressions.manage"] },
  groups: { anyOf: ["groups.read", "groups.manage"] },
} as const satisfies Record<string, Need>;

/** A part of a person's history. */
export type Part = keyof typeof needs;
export const parts = Object.keys(needs) as readonly Part[];

/** Every permission that shows some part. */
export const people_permissions: readonly Permission[] = parts.flatMap((part) => needs[part].anyOf);

/** Returns the parts that the caller may see. */
export function visibleParts(caller: Pick<Caller, "account" | "permissions">): ReadonlySet<Part> {
  return new Set(parts.filter((part) => maySee(caller, needs[part])));
}
