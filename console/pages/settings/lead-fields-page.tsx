import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Picklist } from "../../api/lead-fields.ts";
import { workspacesQuery } from "../../api/leads.ts";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { CustomFieldsPanel } from "./custom-fields-panel.tsx";
import { PicklistPanel } from "./picklist-panel.tsx";

const picklists: readonly { readonly picklist: Picklist; readonly title: string }[] = [
  { picklist: "status", title: "Statuses" },
  { picklist: "priority", title: "Priorities" },
  { picklist: "source", title: "Sources" },
];

const route = getRouteApi("/shell/settings/lead-fields");

/** What a lead of a workspace has: the options of its lists, and the account's own fields. */
export function LeadFieldsPage() {
  const { data: workspaces = [], error } = useQuery(workspacesQuery);
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const first = workspaces[0];
  const workspace = search.workspace ?? first?.id;
  return (
    <Page
      title="Lead fields"
      text="The choices and fields of the leads in a workspace. Leads keep what is archived; new ones cannot use it."
    >
      <FormError error={error} />
      {first && workspaces.length > 1 && (
        <div>
          <FilterSelect
            label="Workspace"
            all={first.name}
            value={workspace === first.id ? undefined : workspace}
            options={workspaces.slice(1).map(({ id, name }) => ({ value: id, label: name }))}
            onChange={(id) => void navigate({ search: { workspace: id } })}
          />
        </div>
      )}
      {workspace !== undefined && (
        <div key={workspace} className="grid items-start gap-6 lg:grid-cols-2">
          {picklists.map((one) => (
            <PicklistPanel key={one.picklist} workspaceId={workspace} {...one} />
          ))}
          <CustomFieldsPanel workspaceId={workspace} />
        </div>
      )}
    </Page>
  );
}
