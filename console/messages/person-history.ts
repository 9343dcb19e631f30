// Sentences for what is known of a person, over leads, messages, calls, suppressions and groups.
import type { Row } from "../api/answer.ts";
import { describeLeadEntry } from "./lead-history.ts";

type Entry = Row<"listPersonTimeline">;

const no_names = { user: () => undefined, option: () => undefined, field: () => undefined };

const channels: Readonly<Record<string, string>> = {
  all: "messages or calls",
  chat: "messages",
  voice: "calls",
};

const sources: Readonly<Record<string, string>> = {
  manual: "by a user",
  import: "by an import",
  reply: "asked by message",
  provider: "asked in WhatsApp",
  dtmf: "asked by a key in a call",
  ai_call: "asked in a call",
  auto_block: "blocked for a time after a call",
};

/** Says what a suppression forbids: "No marketing messages". */
export const describeSuppression = (channel: unknown, scope: unknown): string =>
  `No ${scope === "marketing" ? "marketing " : ""}${channels[String(channel)] ?? String(channel)}`;

/** Says who asked for a suppression. */
export const describeSource = (source: unknown): string =>
  sources[String(source)] ?? String(source);

/** Returns what happened, and what was written if something was. */
export function describePersonEntry({ kind, event, data }: Entry): {
  readonly title: string;
  readonly text?: string;
} {
  const word = event.replaceAll(/[-_]/g, " ");
  switch (kind) {
    case "lead":
      return describeLead(event, data);
    case "message": {
      const error = typeof data["error"] === "string" ? ` (${data["error"]})` : "";
      return { title: `Message of ${String(data["campaign_name"])}: ${word}${error}` };
    }
    case "reply": {
      const text = data["text"] ?? data["payload"];
      const title = data["opted_out"] === true ? "Replied, and opted out" : "Replied";
      return typeof text === "string" ? { title, text } : { title: `${title} (${word})` };
    }
    case "call":
      return {
        title: `${data["direction"] === "inbound" ? "Incoming call" : "Call"}: ${word}`,
      };
    case "suppression": {
      const rule = describeSuppression(data["channel"], data["scope"]);
      return {
        title:
          event === "lifted"
            ? `Lifted: ${rule.toLowerCase()}`
            : `${rule}, ${describeSource(data["source"])}`,
      };
    }
    case "group":
      return { title: `Joined the group ${String(data["group_name"])}` };
  }
}

function describeLead(event: string, data: Entry["data"]) {
  const inner = (data["data"] ?? {}) as Record<string, unknown>;
  const sentences = describeLeadEntry({ kind: event, data: inner }, no_names);
  const name = String(data["lead_name"]);
  return event === "note"
    ? { title: `Note on the lead ${name}`, text: sentences[0]! }
    : { title: `${name}: ${sentences.join(" · ")}` };
}
