import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import type { Row } from "../../api/answer.ts";
import { useRefresh } from "../../api/live.ts";
import { agentsQuery, leadsQuery, picklistsQuery, workspacesQuery } from "../../api/leads.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { buttonClass } from "../../ui/button.tsx";
import { ColumnMenu } from "../../ui/column-menu.tsx";
import { DataTable, type Column, type Selection } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ExportLink } from "../../ui/export-link.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { useColumnChoice } from "../../ui/use-column-choice.ts";
import { BulkChange } from "./bulk-change.tsx";
import { LeadFilters } from "./lead-filters.tsx";
import { NewLeadDialog } from "./new-lead-dialog.tsx";
import { SavedViews } from "./saved-views.tsx";

type Lead = Row<"listLeads">;

const route = getRouteApi("/shell/leads");

const columnsOf = (agents: readonly Row<"listAgents">[]): readonly Column<Lead>[] => [
  {
    header: "Name",
    cell: ({ id, name, email, workspaceId }) => (
      <>
        <Link
          to="/leads/$leadId"
          params={{ leadId: String(id) }}
          search={{ workspace: workspaceId }}
          className="after:absolute after:inset-0"
        >
          {name}
        </Link>
        {email && <span className="text-muted block text-xs font-normal">{email}</span>}
      </>
    ),
  },
  { header: "Phone", cell: ({ phone }) => <span className="tabular-nums">{phone}</span> },
  { header: "Status", cell: ({ status }) => status.label },
  { header: "Source", wide: true, cell: ({ source }) => source?.label ?? "–" },
  { header: "Priority", wide: true, cell: ({ priority }) => priority.label },
  {
    header: "Assigned to",
    wide: true,
    cell: ({ assignedAgentId }) => agents.find(({ id }) => id === assignedAgentId)?.name ?? "–",
  },
  { header: "Created", wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
];

export function LeadsPage() {
  const search = route.useSearch();
  const workspaces = useQuery(workspacesQuery);
  const workspace = search.workspace ?? workspaces.data?.[0]?.id;
  return (
    <Page title="Leads" actions={workspace !== undefined && <Actions workspace={workspace} />}>
      <FormError error={workspaces.error} />
      {workspaces.data?.length === 0 && (
        <EmptyState title="There is no workspace yet" text="Leads live in workspaces." />
      )}
      {workspace !== undefined && <WorkspaceLeads key={workspace} workspace={workspace} />}
    </Page>
  );
}

function Actions({ workspace }: { readonly workspace: number }) {
  const mayCreate = useMay("crm.leads.create");
  const mayImport = useMay("crm.import");
  const { status, source, priority, agent, q } = route.useSearch();
  const filters = {
    statusId: status,
    sourceId: source,
    priorityId: priority,
    assignedAgentId: agent,
    q,
  };
  return (
    <>
      {mayImport && (
        <Link to="/leads/import" search={{ workspace }} className={buttonClass("plain")}>
          Import
        </Link>
      )}
      <ExportLink
        path={`/api/v1/crm/workspaces/${workspace}/leads/export`}
        filter={filters}
        permission="crm.export"
      />
      {mayCreate && <NewLeadDialog workspace={workspace} />}
    </>
  );
}

function WorkspaceLeads({ workspace }: { readonly workspace: number }) {
  const { workspace: _, view: _view, columns: shown, ...filter } = route.useSearch();
  const navigate = route.useNavigate();
  const { data: picklists } = useQuery(picklistsQuery(workspace));
  const { data: agents = no_agents } = useQuery(agentsQuery(workspace));
  const own = useColumnChoice("leads");
  const leads = useInfiniteQuery(leadsQuery(workspace, filter));
  useRefresh(["lead.created", "lead.updated"], ["leads", workspace]);
  const table = pagedRows(leads);
  const { selected, onChange: setSelected } = useSelection(JSON.stringify(filter));
  // A ticked lead that somebody else has changed may not be in the list any more.
  const ids = table.rows.map(({ id }) => id).filter((id) => selected.has(id));
  const mayChange = useMay("crm.write");
  const columns = useMemo(() => columnsOf(agents), [agents]);
  const choices = columns.slice(1).map(({ header }) => header);
  const shownOf = (hidden: ReadonlySet<string>) => choices.filter((name) => !hidden.has(name));
  const hidden = shown ? new Set(choices.filter((name) => !shown.includes(name))) : own.hidden;
  // The columns of a view are in the address, as its filters are.
  const onHide = (changed: ReadonlySet<string>) =>
    shown
      ? void navigate({ search: (old) => ({ ...old, columns: shownOf(changed) }) })
      : own.onChange(changed);
  return (
    <>
      <SavedViews workspace={workspace} columns={shownOf(hidden)} />
      <div className="flex flex-wrap items-start justify-between gap-2">
        <LeadFilters workspace={workspace} picklists={picklists} agents={agents} />
        {/* A phone has the columns that fit. */}
        <div className="max-md:hidden">
          <ColumnMenu columns={choices} hidden={hidden} onChange={onHide} />
        </div>
      </div>
      {ids.length > 0 && (
        <BulkChange
          workspace={workspace}
          ids={ids}
          picklists={picklists}
          agents={agents}
          onDone={() => setSelected(new Set())}
        />
      )}
      <LeadTable
        leads={leads}
        table={table}
        filtered={Object.keys(filter).length > 0}
        selection={mayChange ? { selected, onChange: setSelected } : undefined}
        columns={columns.filter(({ header }) => !hidden.has(header))}
      />
    </>
  );
}

/** The leads that are ticked in the list of a filter; another filter begins without any, because it may not show them. */
function useSelection(filter: string): Selection {
  const [selected, onChange] = useState<ReadonlySet<number>>(new Set());
  const [shown, setShown] = useState(filter);
  if (shown !== filter) {
    setShown(filter);
    onChange(new Set());
  }
  return { selected, onChange };
}

const no_agents: readonly Row<"listAgents">[] = [];

function LeadTable({
  leads,
  table,
  filtered,
  columns,
  selection,
}: {
  readonly leads: { readonly isSuccess: boolean; readonly error: Error | null };
  readonly table: ReturnType<typeof pagedRows<Lead>>;
  readonly filtered: boolean;
  readonly columns: readonly Column<Lead>[];
  readonly selection: Selection | undefined;
}) {
  if (leads.isSuccess && table.rows.length === 0)
    return (
      <EmptyState
        title={filtered ? "No lead matches these filters" : "No leads yet"}
        text={
          filtered
            ? "Try fewer filters, or another spelling."
            : "Create one with New lead, import a file, or let a form create them by the API."
        }
      />
    );
  return (
    <>
      <FormError error={leads.error} />
      <DataTable
        label="Leads"
        columns={columns}
        {...table}
        keyOf={({ id }) => id}
        selection={selection}
      />
    </>
  );
}
