import { Link } from "@tanstack/react-router";
import type { PersonEntry } from "../../api/people.ts";

/** What happened to a person, with a link to where it is. */
export function EntryLink({
  entry: { kind, data },
  phone,
  title,
}: {
  readonly entry: PersonEntry;
  readonly phone: string;
  readonly title: string;
}) {
  const idOf = (name: string) => Number(data[name]);
  const link = { children: title, className: "text-accent underline-offset-2 hover:underline" };
  switch (kind) {
    case "lead":
      return (
        <Link
          to="/leads/$leadId"
          params={{ leadId: String(data["lead_id"]) }}
          search={{ workspace: idOf("workspace_id") }}
          {...link}
        />
      );
    case "message":
      return <Link to="/chat/campaigns/$id" params={{ id: idOf("campaign_id") }} {...link} />;
    case "reply":
    case "answer":
      return <Link to="/chat/replies/$person" params={{ person: phone }} {...link} />;
    case "call":
      return <Link to="/calls/$id" params={{ id: idOf("call_id") }} {...link} />;
    case "group":
      return <Link to="/groups/$id" params={{ id: idOf("group_id") }} {...link} />;
    case "suppression":
      return title;
  }
}
