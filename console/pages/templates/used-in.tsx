import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { campaignsOfTemplateQuery } from "../../api/chat.ts";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";
import { StatusBadge } from "../chat/status-badge.tsx";

/** The newest campaigns that send the template. */
export function UsedIn({ templateId }: { readonly templateId: number }) {
  const { data: campaigns, error } = useQuery(campaignsOfTemplateQuery(templateId));
  return (
    <Panel title="Used in">
      <FormError error={error} />
      {campaigns?.length === 0 && <p className="text-muted">No campaign has sent it yet.</p>}
      {campaigns && campaigns.length > 0 && (
        <ul aria-label="Campaigns with it" className="divide-line divide-y">
          {campaigns.map(({ id, name, status, created_at }) => (
            <li
              key={id}
              className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 py-2 first:pt-0 last:pb-0"
            >
              <Link
                to="/chat/campaigns/$id"
                params={{ id }}
                className="font-medium wrap-anywhere hover:underline"
              >
                {name}
              </Link>
              <span className="text-muted flex items-center gap-3">
                <Time at={created_at} />
                <StatusBadge status={status} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
