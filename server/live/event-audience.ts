// Which event types a caller receives: those of the resources that the caller may read by other routes,
// given the account's features and the caller's permissions.
import type { Caller } from "../accounts/caller.ts";
import { eventNeed, event_needs } from "../accounts/event-needs.ts";
import { maySee } from "../accounts/may-see.ts";
import type { Permission } from "../accounts/permissions.ts";
import { eventCatalogue, type EventType } from "../engine/event-catalogue.ts";
import type { FieldError } from "../lib/errors.ts";

/** Types of campaign progress, which is streamed and not recorded. */
const progress_types = ["chat.campaign.progress", "voice.campaign.progress"] as const;
export type ProgressType = (typeof progress_types)[number];

type LiveType = EventType | ProgressType;
const live_types: readonly LiveType[] = [
  ...(Object.keys(eventCatalogue) as EventType[]),
  ...progress_types,
];

/** Any of these permissions opens a stream; visibleTypes decides what it contains. */
export const stream_permissions: readonly Permission[] = [
  ...new Set(event_needs.flatMap(({ anyOf }) => anyOf)),
];

/** Returns those of `types` that the caller may receive. */
export function visibleTypes(caller: Caller, types: ReadonlySet<string>): ReadonlySet<string> {
  const isVisible = (type: LiveType) => maySee(caller, eventNeed(type));
  return new Set(live_types.filter((type) => types.has(type) && isVisible(type)));
}

export function includesProgress(types: ReadonlySet<string>): boolean {
  return progress_types.some((type) => types.has(type));
}

/** Returns the types that a filter such as `call.*,lead.created` matches; all types without a filter. */
export function typesOf(filter: string | undefined): ReadonlySet<string> {
  if (filter === undefined) return new Set(live_types);
  return new Set(wordsOf(filter).flatMap(typesOfWord));
}

/** Returns a violation for each part of a filter that matches no type. */
export function validateTypes(filter: unknown): FieldError[] {
  if (typeof filter !== "string") return [];
  return wordsOf(filter)
    .filter((word) => typesOfWord(word).length === 0)
    .map((word) => ({
      field: "types",
      reason: `must be event types or prefixes such as call.*; "${word}" matches none`,
    }));
}

function wordsOf(filter: string): string[] {
  return filter.split(",").map((word) => word.trim());
}

function typesOfWord(word: string): LiveType[] {
  const matches = word.endsWith(".*")
    ? (type: string) => type.startsWith(word.slice(0, -1))
    : (type: string) => type === word;
  return live_types.filter(matches);
}
