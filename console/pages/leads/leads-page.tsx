import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Row } from "../../api/answer.ts";
import { useRefresh } from "../../api/live.ts";
import { leadsQuery, picklistsQuery, workspacesQuery } from "../../api/leads.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { LeadFilters } from "./lead-filters.tsx";

type Lead = Row<"listLeads">;

const route = getRouteApi("/shell/leads");

const columns: readonly Column<Lead>[] = [
  {
    header: "Name",
    cell: ({ name, email }) => (
      <>
        {name}
        {email && <span className="text-muted block text-xs font-normal">{email}</span>}
      </>
    ),
  },
  { header: "Phone", cell: ({ phone }) => <span className="tabular-nums">{phone}</span> },
  { header: "Status", cell: ({ status }) => status.label },
  { header: "Source", wide: true, cell: ({ source }) => source?.label ?? "–" },
  { header: "Priority", wide: true, cell: ({ priority }) => priority.label },
  { header: "Created", wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

export function LeadsPage() {
  const search = route.useSearch();
  const workspaces = useQuery(workspacesQuery);
  const workspace = search.workspace ?? workspaces.data?.[0]?.id;
  return (
    <Page title="Leads">
      <FormError error={workspaces.error} />
      {workspaces.data?.length === 0 && (
        <EmptyState title="There is no workspace yet" text="Leads live in workspaces." />
      )}
      {workspace !== undefined && <WorkspaceLeads key={workspace} workspace={workspace} />}
    </Page>
  );
}

function WorkspaceLeads({ workspace }: { readonly workspace: number }) {
  const search = route.useSearch();
  const picklists = useQuery(picklistsQuery(workspace));
  const leads = useInfiniteQuery(leadsQuery(workspace, search));
  useRefresh(["lead.created", "lead.updated"], ["leads", workspace]);
  const rows = leads.data?.pages.flatMap(({ data }) => data) ?? [];
  const filtered = search.q !== undefined || search.status !== undefined;
  return (
    <>
      <LeadFilters workspace={workspace} statuses={picklists.data?.status ?? []} />
      <FormError error={leads.error} />
      {leads.isSuccess && rows.length === 0 ? (
        <EmptyState
          title={filtered ? "No lead matches these filters" : "No leads yet"}
          text={
            filtered
              ? "Try fewer filters, or another spelling."
              : "They appear here as soon as a form or an import creates them."
          }
        />
      ) : (
        <DataTable
          label="Leads"
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          loading={leads.isPending}
          loadMore={
            leads.hasNextPage && !leads.isFetchingNextPage
              ? () => void leads.fetchNextPage()
              : undefined
          }
        />
      )}
    </>
  );
}
