import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { leadQuery, type LeadPlace } from "../../api/lead.ts";
import { workspacesQuery } from "../../api/leads.ts";
import { useRefresh } from "../../api/live.ts";
import { ApiProblem } from "../../api/problem.ts";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { ContactActions } from "../people/contact-actions.tsx";
import { Collaborators } from "./collaborators.tsx";
import { LeadDetails } from "./lead-details.tsx";
import { LeadHistory } from "./lead-history.tsx";

const shell = getRouteApi("/shell");
const route = getRouteApi("/shell/leads/$leadId");

export function LeadPage() {
  const { leadId } = route.useParams();
  const search = route.useSearch();
  const workspaces = useQuery(workspacesQuery);
  const workspaceId = search.workspace ?? workspaces.data?.[0]?.id;
  if (workspaceId === undefined)
    return (
      <Page title="Lead">
        <FormError error={workspaces.error} />
      </Page>
    );
  const place = { workspaceId, leadId: Number(leadId) };
  return <LeadAt key={`${workspaceId}-${leadId}`} place={place} />;
}

function LeadAt({ place }: { readonly place: LeadPlace }) {
  const { data: lead, error } = useQuery(leadQuery(place));
  useRefresh(["lead.updated"], ["lead", place], { id: place.leadId });
  const { country_code } = shell.useRouteContext().me.account;
  if (error instanceof ApiProblem && [404, 422].includes(error.status))
    return (
      <Page title="Lead">
        <EmptyState title="There is no such lead" text="It may have been erased.">
          <Link to="/leads" className="text-accent underline">
            Go to all leads
          </Link>
        </EmptyState>
      </Page>
    );
  return (
    <Page
      title={lead?.name ?? "Lead"}
      text={
        lead && (
          <>
            Created <Time at={lead.createdAt} />
            {" · "}
            <Link
              to="/people/$phone"
              params={{ phone: lead.phone }}
              className="text-accent underline"
            >
              Everything about {lead.phone}
            </Link>
          </>
        )
      }
      actions={lead && <ContactActions number={`+${country_code}${lead.phone}`} name={lead.name} />}
    >
      <FormError error={error} />
      {lead && (
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-[22rem_1fr]">
          <div className="flex min-w-0 flex-col gap-4">
            <LeadDetails lead={lead} />
            <Collaborators lead={lead} />
          </div>
          <LeadHistory place={place} phone={`+${country_code}${lead.phone}`} />
        </div>
      )}
    </Page>
  );
}
