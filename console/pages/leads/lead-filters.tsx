import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { type Option, workspacesQuery } from "../../api/leads.ts";
import type { LeadsSearch } from "./leads-search.ts";

const route = getRouteApi("/shell/leads");
const control = "border-line bg-panel h-9 rounded-lg border px-3";

/** The filters of the list; each change is a new address, so that Back undoes it. */
export function LeadFilters({
  workspace,
  statuses,
}: {
  readonly workspace: number;
  readonly statuses: readonly Option[];
}) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const { data: workspaces = [] } = useQuery(workspacesQuery);
  const change = (changed: { [Key in keyof LeadsSearch]: LeadsSearch[Key] | undefined }) =>
    void navigate({
      search: Object.fromEntries(
        Object.entries({ ...search, ...changed }).filter(([, value]) => value !== undefined),
      ),
    });
  return (
    <form
      role="search"
      className="flex flex-wrap gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        const q = new FormData(event.currentTarget).get("q") as string;
        change({ q: q.trim() === "" ? undefined : q.trim() });
      }}
    >
      <input
        key={search.q}
        name="q"
        type="search"
        aria-label="Search leads"
        placeholder="Name, number or email"
        defaultValue={search.q}
        className={`${control} w-64 max-sm:w-full`}
      />
      <select
        aria-label="Status"
        className={control}
        value={search.status ?? ""}
        onChange={({ target }) => change({ status: Number(target.value) || undefined })}
      >
        <option value="">Any status</option>
        {statuses.map(({ id, label }) => (
          <option key={id} value={id}>
            {label}
          </option>
        ))}
      </select>
      {workspaces.length > 1 && (
        <select
          aria-label="Workspace"
          className={control}
          value={workspace}
          onChange={({ target }) => change({ workspace: Number(target.value), status: undefined })}
        >
          {workspaces.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </form>
  );
}
