import { useQuery } from "@tanstack/react-query";
import { extensionsQuery, type Extension } from "../../api/agents.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { useMay } from "../../ui/permission.ts";
import { ExtensionDialog } from "./extension-dialog.tsx";

/** The phones of the account. */
export function ExtensionList() {
  const { data: extensions, error, isPending } = useQuery(extensionsQuery);
  const may = useMay("agents.manage");
  return (
    <section aria-labelledby="extensions-heading" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 id="extensions-heading" className="font-semibold">
          Extensions
        </h2>
        {may && <ExtensionDialog extension={null} trigger={<Button>New extension</Button>} />}
      </div>
      <FormError error={error} />
      {extensions?.length === 0 ? (
        <p className="text-muted">None yet. An extension is a phone of the account.</p>
      ) : (
        <DataTable
          label="Extensions"
          columns={may ? [...columns, actions] : columns}
          rows={extensions ?? []}
          loading={isPending}
          loadMore={undefined}
          keyOf={({ id }) => id}
        />
      )}
    </section>
  );
}

const columns: readonly Column<Extension>[] = [
  { header: "Extension", cell: ({ extension }) => extension },
  { header: "Name", cell: ({ name }) => <span className="wrap-anywhere">{name}</span> },
  { header: "Transfer key", wide: true, cell: ({ digit }) => digit ?? "–" },
  {
    header: "Endpoint",
    wide: true,
    cell: ({ endpoint }) => <span className="font-mono text-xs">{endpoint}</span>,
  },
];

const actions: Column<Extension> = {
  header: "Action",
  cell: (row) => (
    <span className="-my-1 flex flex-wrap gap-1">
      <ExtensionDialog
        extension={row}
        trigger={
          <Button kind="quiet" aria-label={`Change ${row.extension}`}>
            Change
          </Button>
        }
      />
      <ConfirmDialog
        title={`Delete extension ${row.extension}?`}
        text="Calls cannot ring it any more."
        action="Delete"
        trigger={
          <Button kind="quiet" aria-label={`Delete ${row.extension}`}>
            Delete
          </Button>
        }
        act={async () => {
          await api.DELETE("/api/v1/extensions/{id}", { params: { path: { id: row.id } } });
          await queryClient.invalidateQueries({ queryKey: ["extensions"] });
        }}
      />
    </span>
  ),
};
