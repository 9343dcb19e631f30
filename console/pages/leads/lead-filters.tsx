import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Answer, Row } from "../../api/answer.ts";
import { allOptionsQuery } from "../../api/lead-fields.ts";
import { workspacesQuery } from "../../api/leads.ts";
import { FilterSelect } from "../../ui/filter-select.tsx";
import type { Option } from "../../ui/option.ts";
import { optionsOf } from "./lead-options.ts";
import { SearchField } from "../../ui/search-field.tsx";
import type { LeadsSearch } from "./leads-search.ts";

const picklist_filters = [
  { name: "status", label: "Status", all: "Any status" },
  { name: "source", label: "Source", all: "Any source" },
  { name: "priority", label: "Priority", all: "Any priority" },
] as const;

type Filter = (typeof picklist_filters)[number];

const route = getRouteApi("/shell/leads");

/** The filters of the list; each change is a new address, so that Back undoes it. */
export function LeadFilters({
  workspace,
  picklists,
  agents,
}: {
  readonly workspace: number;
  readonly picklists: Answer<"listPicklists"> | undefined;
  readonly agents: readonly Row<"listAgents">[];
}) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: workspaces = [] } = useQuery(workspacesQuery);
  const isOffered = ({ name }: Filter) =>
    !picklists || picklists[name].some(({ id }) => id === search[name]);
  const { data: all } = useQuery({
    ...allOptionsQuery(workspace),
    enabled: picklist_filters.some(
      (filter) => search[filter.name] !== undefined && !isOffered(filter),
    ),
  });
  /** Those that leads can get, and the chosen one if it was archived: leads keep it. */
  const offered = (filter: Filter): readonly Option<number>[] => {
    const options = optionsOf(picklists?.[filter.name] ?? []);
    const chosen = search[filter.name];
    if (chosen === undefined || isOffered(filter) || !all) return options;
    const archived = all[filter.name].find(({ id }) => id === chosen);
    const label = archived ? `Archived: ${archived.label}` : "Unknown";
    return [...options, { value: chosen, label }];
  };
  const change = (changed: LeadsSearch) => void navigate({ search: { ...search, ...changed } });
  return (
    <div className="grid w-full grid-cols-2 gap-2 *:min-w-0 max-sm:[&>form]:col-span-2 sm:flex sm:w-auto sm:flex-wrap">
      <SearchField
        label="Search leads"
        placeholder="Name, number or email"
        value={search.q}
        onSearch={(q) => change({ q })}
      />
      {picklist_filters.map((filter) => (
        <FilterSelect
          key={filter.name}
          label={filter.label}
          all={filter.all}
          value={search[filter.name]}
          options={offered(filter)}
          onChange={(id) => change({ [filter.name]: id })}
        />
      ))}
      <FilterSelect
        label="Assigned to"
        all="Anyone"
        value={search.agent}
        options={agents.map(({ id, name }) => ({ value: id, label: name }))}
        onChange={(agent) => change({ agent })}
      />
      {workspaces.length > 1 && (
        <FilterSelect
          label="Workspace"
          all={workspaces[0]!.name}
          value={workspace === workspaces[0]!.id ? undefined : workspace}
          options={workspaces.slice(1).map(({ id, name }) => ({ value: id, label: name }))}
          onChange={(id) =>
            // Options belong to a workspace.
            change({ workspace: id, status: undefined, source: undefined, priority: undefined })
          }
        />
      )}
    </div>
  );
}
