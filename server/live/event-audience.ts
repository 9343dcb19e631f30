// Which event types a caller receives: those of the resources that the caller may read by other routes,
// given the account's features and the caller's permissions.
import type { Caller } from "../accounts/caller.ts";
import { maySee, type Need } from "../accounts/may-see.ts";
import type { Permission } from "../accounts/permissions.ts";
import { eventCatalogue, type EventType } from "../engine/event-catalogue.ts";
import type { FieldError } from "../lib/errors.ts";

/** Types of campaign progress, which is streamed and not recorded. */
const progress_types = ["chat.campaign.progress", "voice.campaign.progress"] as const;
export type ProgressType = (typeof progress_types)[number];

type LiveType = EventType | ProgressType;
type FirstWord<Text extends string> = Text extends `${infer Word}.${string}` ? Word : Text;
type KindOf<Type extends string> = Type extends `chat.${infer Rest}`
  ? `chat.${FirstWord<Rest>}`
  : FirstWord<Type>;

const replies: Need = { features: ["bulk_chat"], anyOf: ["chat.read"] };
const campaigns: Need = { features: ["bulk_chat"], anyOf: ["chat.read", "chat.campaigns.manage"] };
const templates: Need = {
  features: ["bulk_chat"],
  anyOf: ["chat.read", "chat.campaigns.create", "chat.manage"],
};

/** By the first word of a type, those of chat by the first two: the same as the routes of their subjects. */
const audiences: Readonly<Record<KindOf<LiveType>, Need>> = {
  lead: { features: ["crm"], anyOf: ["crm.read"] },
  "chat.campaign": campaigns,
  "chat.message": campaigns,
  "chat.template": templates,
  "chat.reply": replies,
  "chat.answer": replies,
  "chat.optout": replies,
  "chat.optin": replies,
  voice: { features: ["voice"], anyOf: ["voice.campaigns.read", "voice.campaigns.manage"] },
  call: { features: ["calls", "voice"], anyOf: ["calls.read", "calls.manage"] },
  credit: { anyOf: ["credits.read"] },
  callback: { anyOf: ["callbacks.read", "callbacks.manage"] },
};

const live_types: readonly LiveType[] = [
  ...(Object.keys(eventCatalogue) as EventType[]),
  ...progress_types,
];

/** Any of these permissions opens a stream; visibleTypes decides what it contains. */
export const stream_permissions: readonly Permission[] = [
  ...new Set(Object.values(audiences).flatMap(({ anyOf }) => anyOf)),
];

/** Returns those of `types` that the caller may receive. */
export function visibleTypes(caller: Caller, types: ReadonlySet<string>): ReadonlySet<string> {
  const isVisible = (type: LiveType) => maySee(caller, audiences[kindOf(type)]);
  return new Set(live_types.filter((type) => types.has(type) && isVisible(type)));
}

function kindOf(type: LiveType): KindOf<LiveType> {
  const words = type.split(".");
  return words.slice(0, words[0] === "chat" ? 2 : 1).join(".") as KindOf<LiveType>;
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
