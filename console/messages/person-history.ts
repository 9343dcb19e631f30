// Sentences for what is known of a person, over leads, messages, calls, suppressions and groups.
import type { PersonEntry } from "../api/people.ts";
import { call_reasons } from "./call-reasons.ts";
import { recipient_reasons } from "./chat-reasons.ts";
import { describeLeadEntry, type Names } from "./lead-history.ts";
import { reasonOf, type Reason } from "./reason.ts";

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

/** Says what a suppression forbids: "No marketing messages". Every call counts as marketing. */
export const describeSuppression = (channel: unknown, scope: unknown): string => {
  const isMarketing = scope === "marketing" && channel !== "voice";
  return `No ${isMarketing ? "marketing " : ""}${channels[String(channel)] ?? String(channel)}`;
};

/** Says who asked for a suppression. */
export const describeSource = (source: unknown): string =>
  sources[String(source)] ?? String(source);

/** The delivery statuses of an answer that the timeline shows. */
const arrivals: ReadonlySet<string> = new Set(["delivered", "read"]);

/** Returns what happened, and what was written if something was. */
export function describePersonEntry(
  { kind, event, data }: PersonEntry,
  namesOf: (workspace: number) => Names,
): {
  readonly title: string;
  readonly text?: string;
} {
  const word = event.replaceAll(/[-_]/g, " ");
  switch (kind) {
    case "lead":
      return describeLead(event, data, namesOf(Number(data["workspace_id"])));
    case "message": {
      const why = whyOf(recipient_reasons, data["error"]);
      return { title: `Message of ${String(data["campaign_name"])}: ${word}${why}` };
    }
    case "reply": {
      const text = data["text"] ?? data["payload"];
      const title = data["opted_out"] === true ? "Replied, and opted out" : "Replied";
      return typeof text === "string" ? { title, text } : { title: `${title} (${word})` };
    }
    case "answer": {
      const failed =
        event === "failed" ? `, but it failed${whyOf(recipient_reasons, data["error"])}` : "";
      const came = arrivals.has(event) ? `: ${word}` : "";
      return { title: `Answered${came}${failed}`, text: String(data["text"]) };
    }
    case "call": {
      const talked = Number(data["talk_seconds"] ?? 0);
      const why =
        event !== "completed"
          ? whyOf(call_reasons, data["ended_reason"])
          : talked > 0
            ? `, talked ${talked} s`
            : "";
      return {
        title: `${data["direction"] === "inbound" ? "Incoming call" : "Call"}: ${word}${why}`,
        ...(typeof data["remark"] === "string" ? { text: data["remark"] } : {}),
      };
    }
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

/** The label of a reason in brackets; nothing if there is none. */
function whyOf(reasons: Readonly<Record<string, Reason>>, name: unknown): string {
  return typeof name === "string" ? ` (${reasonOf(reasons, name).label})` : "";
}

function describeLead(event: string, data: PersonEntry["data"], names: Names) {
  const inner = (data["data"] ?? {}) as Record<string, unknown>;
  const sentences = describeLeadEntry({ kind: event, data: inner }, names);
  const name = String(data["lead_name"]);
  return event === "note"
    ? { title: `Note on the lead ${name}`, text: sentences[0]! }
    : { title: `${name}: ${sentences.join(" · ")}` };
}
