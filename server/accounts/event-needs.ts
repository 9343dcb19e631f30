// Which permissions and features show an event: those of the routes of its subject.
import type { EventType } from "../engine/event-catalogue.ts";
import type { Need } from "./may-see.ts";

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

/** By the first word of a type, those of chat by the first two. */
const needs: Readonly<Record<KindOf<EventType>, Need>> = {
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

/** The need of each kind of event. */
export const event_needs: readonly Need[] = Object.values(needs);

/** Returns the need of an event type, or of a campaign's progress. */
export function eventNeed(type: EventType | `${"chat" | "voice"}.campaign.progress`): Need {
  const words = type.split(".");
  return needs[words.slice(0, words[0] === "chat" ? 2 : 1).join(".") as KindOf<EventType>];
}
