// Who hears of what: whoever may read it by the other routes, by the account's features and the
// caller's permissions.
import type { Caller } from "../accounts/caller.ts";
import type { Feature, Permission } from "../accounts/permissions.ts";
import { eventCatalogue, type EventType } from "../engine/event-catalogue.ts";
import type { FieldError } from "../lib/errors.ts";

/** What is told of campaigns under way, beside the recorded events. */
const progress_types = ["chat.campaign.progress", "voice.campaign.progress"] as const;
export type ProgressType = (typeof progress_types)[number];

type LiveType = EventType | ProgressType;
type KindOf<Type extends string> = Type extends `${infer Kind}.${string}` ? Kind : never;

/** By the first word of a type; a feature of these, if there are any, and one of the permissions. */
const audiences: Readonly<
  Record<
    KindOf<LiveType>,
    { readonly features: readonly Feature[] | null; readonly anyOf: readonly Permission[] }
  >
> = {
  lead: { features: ["crm"], anyOf: ["crm.read"] },
  chat: { features: ["bulk_chat"], anyOf: ["chat.read", "chat.campaigns.manage", "chat.manage"] },
  voice: { features: ["voice"], anyOf: ["voice.campaigns.read", "voice.campaigns.manage"] },
  call: { features: ["calls", "voice"], anyOf: ["calls.read", "calls.manage"] },
  credit: { features: null, anyOf: ["credits.read"] },
  callback: { features: null, anyOf: ["callbacks.read", "callbacks.manage"] },
};

const live_types: readonly LiveType[] = [
  ...(Object.keys(eventCatalogue) as EventType[]),
  ...progress_types,
];

/** Each of them opens the stream; what it tells is up to the others. */
export const may_listen: readonly Permission[] = Object.values(audiences).flatMap(
  ({ anyOf }) => anyOf,
);

/** Of these types, those that the caller may hear of now. */
export function heardBy(
  { account, permissions }: Caller,
  types: ReadonlySet<string>,
): ReadonlySet<string> {
  const mayHear = (type: LiveType) => {
    const { features, anyOf } = audiences[type.slice(0, type.indexOf(".")) as KindOf<LiveType>];
    const hasFeature = features === null || features.some((one) => account.features.has(one));
    return hasFeature && anyOf.some((permission) => permissions.has(permission));
  };
  return new Set(live_types.filter((type) => types.has(type) && mayHear(type)));
}

export function hearsProgress(types: ReadonlySet<string>): boolean {
  return progress_types.some((type) => types.has(type));
}

/** The types that `call.*,lead.created` means; without a filter all of them. What is unknown means nothing. */
export function typesOf(filter: string | undefined): ReadonlySet<string> {
  if (filter === undefined) return new Set(live_types);
  return new Set(wordsOf(filter).flatMap(typesOfWord));
}

/** What of such a filter is no type and begins none, each named. */
export function validateTypes(filter: unknown): FieldError[] {
  if (typeof filter !== "string") return [];
  return wordsOf(filter)
    .filter((word) => typesOfWord(word).length === 0)
    .map((word) => ({
      field: "types",
      reason: `"${word}" is neither a type of events nor the beginning of one, like call.*`,
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
