// Sentences for what happened to a lead.
import type { Row } from "../api/answer.ts";

type Entry = Pick<Row<"listLeadTimeline">, "kind" | "data">;

/** Names of what an entry mentions by its id; undefined if it is unknown. */
export type Names = {
  readonly user: (id: number) => string | undefined;
  readonly option: (id: number) => string | undefined;
  readonly field: (key: string) => string | undefined;
};

type Change = {
  readonly field: string;
  readonly from?: number | null;
  readonly to?: number | null;
};

const fields: Readonly<Record<string, string>> = {
  name: "Name",
  email: "Email",
  phone: "Phone",
  assignedAgentId: "Assigned to",
  statusId: "Status",
  sourceId: "Source",
  priorityId: "Priority",
};

/** Returns one sentence for each thing that happened. */
export function describeLeadEntry({ kind, data }: Entry, names: Names): readonly string[] {
  const user = () => names.user(data["userId"] as number) ?? "A user";
  switch (kind) {
    case "created":
      return ["Lead created"];
    case "updated":
      return (data["changes"] as readonly Change[]).map((change) => describeChange(change, names));
    case "note":
      return [String(data["text"])];
    case "call":
      return [describeCall(data)];
    case "missed_call":
      return ["Missed call"];
    case "collaborator_added":
      return [`${user()} became a collaborator`];
    case "collaborator_removed":
      return [`${user()} is no longer a collaborator`];
    default:
      return [kind.replaceAll("_", " ")];
  }
}

function describeChange({ field, from, to }: Change, names: Names): string {
  const custom = /^customFields\.(.+)$/.exec(field)?.[1];
  if (custom) return `${names.field(custom) ?? `The field ${custom}`} changed`;
  const label = fields[field] ?? field;
  if (to === undefined) return `${label} changed`;
  const nameOf = (id: number) => (field === "assignedAgentId" ? names.user : names.option)(id);
  if (field === "assignedAgentId")
    return to === null ? "Unassigned" : `Assigned to ${nameOf(to) ?? "a user"}`;
  if (to === null) return `${label} cleared`;
  const before = typeof from === "number" ? nameOf(from) : undefined;
  const after = nameOf(to);
  if (after === undefined) return `${label} changed`;
  return `${label} changed${before ? ` from ${before}` : ""} to ${after}`;
}

function describeCall({ outcome, status, talkSeconds, campaignName }: Entry["data"]): string {
  const result = String(outcome ?? status).replaceAll("_", " ");
  const of_campaign = typeof campaignName === "string" ? ` in the campaign ${campaignName}` : "";
  const talked = typeof talkSeconds === "number" && talkSeconds > 0 ? `, ${talkSeconds} s` : "";
  return `Call${of_campaign}: ${result}${talked}`;
}
