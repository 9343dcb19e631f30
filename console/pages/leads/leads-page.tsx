import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { leadsQuery, picklistsQuery, workspacesQuery } from "../../api/leads.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Heading } from "../../ui/heading.tsx";
import { LeadFilters } from "./lead-filters.tsx";
import { LeadTable } from "./lead-table.tsx";

const route = getRouteApi("/shell/leads");

export function LeadsPage() {
  const search = route.useSearch();
  const workspaces = useQuery(workspacesQuery);
  const workspace = search.workspace ?? workspaces.data?.[0]?.id;
  return (
    <div className="flex flex-col gap-6">
      <Heading>Leads</Heading>
      <FormError error={workspaces.error} />
      {workspaces.data?.length === 0 && (
        <p className="text-muted">There is no workspace yet. Leads live in workspaces.</p>
      )}
      {workspace !== undefined && <WorkspaceLeads key={workspace} workspace={workspace} />}
    </div>
  );
}

function WorkspaceLeads({ workspace }: { readonly workspace: number }) {
  const search = route.useSearch();
  const { me } = route.useRouteContext();
  const picklists = useQuery(picklistsQuery(workspace));
  const leads = useInfiniteQuery(leadsQuery(workspace, search));
  const rows = leads.data?.pages.flatMap(({ data }) => data) ?? [];
  const filtered = search.q !== undefined || search.status !== undefined;
  return (
    <>
      <LeadFilters workspace={workspace} statuses={picklists.data?.status ?? []} />
      <FormError error={leads.error} />
      {leads.isSuccess && rows.length === 0 ? (
        <p className="text-muted">
          {filtered
            ? "No lead matches these filters."
            : "No leads yet. They appear here as soon as a form or an import creates them."}
        </p>
      ) : (
        <LeadTable leads={rows} loading={leads.isPending} time_zone={me.account.time_zone} />
      )}
      {leads.hasNextPage && (
        <div>
          <Button busy={leads.isFetchingNextPage} onClick={() => void leads.fetchNextPage()}>
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
