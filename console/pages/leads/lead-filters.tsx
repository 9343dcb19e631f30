import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Answer } from "../../api/answer.ts";
import { workspacesQuery } from "../../api/leads.ts";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import type { LeadsSearch } from "./leads-search.ts";

const route = getRouteApi("/shell/leads");

/** The filters of the list; each change is a new address, so that Back undoes it. */
export function LeadFilters({
  workspace,
  statuses,
}: {
  readonly workspace: number;
  readonly statuses: Answer<"listPicklists">["status"];
}) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: workspaces = [] } = useQuery(workspacesQuery);
  const change = (changed: LeadsSearch) => void navigate({ search: { ...search, ...changed } });
  return (
    <div className="flex flex-wrap gap-2">
      <SearchField
        label="Search leads"
        placeholder="Name, number or email"
        value={search.q}
        onSearch={(q) => change({ q })}
      />
      <FilterSelect
        label="Status"
        all="Any status"
        value={search.status}
        options={statuses.map(({ id, label }) => ({ value: id, label }))}
        onChange={(status) => change({ status })}
      />
      {workspaces.length > 1 && (
        <FilterSelect
          label="Workspace"
          all={workspaces[0]!.name}
          value={workspace === workspaces[0]!.id ? undefined : workspace}
          options={workspaces.slice(1).map(({ id, name }) => ({ value: id, label: name }))}
          onChange={(id) => change({ workspace: id, status: undefined })}
        />
      )}
    </div>
  );
}
