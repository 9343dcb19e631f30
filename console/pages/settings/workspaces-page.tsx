import { useQuery } from "@tanstack/react-query";
import { allWorkspacesQuery, saveWorkspace, type Workspace } from "../../api/leads.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";
import { Page } from "../../ui/page.tsx";
import { PageLink } from "../../ui/page-link.tsx";
import { RowActions } from "../../ui/row-actions.tsx";
import { Time } from "../../ui/time.tsx";

const fields: readonly FormField[] = [
  { name: "name", label: "Name", kind: "text" },
  { name: "active", label: "Active: its leads can be seen and created", kind: "check" },
];

const save = (id: number | null) => (json: FormValues, _: FormValues, key: string) =>
  saveWorkspace(id, json as Parameters<typeof saveWorkspace>[1], key);

const columns: readonly Column<Workspace>[] = [
  {
    header: "Name",
    cell: ({ id, name, active }) =>
      active ? (
        <PageLink to="/leads" search={{ workspace: id }} className="hover:underline">
          {name}
        </PageLink>
      ) : (
        name
      ),
  },
  {
    header: "State",
    cell: ({ active }) =>
      active ? <Badge tone="good">Active</Badge> : <Badge tone="neutral">Inactive</Badge>,
  },
  { header: "Number", numeric: true, wide: true, cell: ({ id }) => id },
  { header: "Since", wide: true, cell: ({ createdAt }) => <Time at={createdAt} /> },
  {
    header: "Action",
    cell: (workspace) => (
      <RowActions
        name={workspace.name}
        change={{ fields, known: workspace, save: save(workspace.id) }}
      />
    ),
  },
];

/** Leads are kept apart by workspace, each with its own picklists and fields. */
export function WorkspacesPage() {
  const { data = [], error, isPending } = useQuery(allWorkspacesQuery);
  return (
    <Page
      title="Workspaces"
      text="Each has its own leads, contacts, picklists and fields."
      actions={
        <FormDialog
          title="New workspace"
          fields={fields}
          known={{ active: true }}
          action="Create workspace"
          save={save(null)}
          trigger={<Button kind="primary">New workspace</Button>}
        />
      }
    >
      <FormError error={error} />
      <DataTable
        label="Workspaces"
        columns={columns}
        rows={data}
        loading={isPending}
        keyOf={({ id }) => id}
      />
    </Page>
  );
}
