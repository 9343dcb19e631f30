import { useQuery } from "@tanstack/react-query";
import { extensionsQuery, saveExtension, type Extension } from "../../api/agents.ts";
import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { allUsersQuery } from "../../api/users.ts";
import { Button } from "../../ui/button.tsx";
import type { Column } from "../../ui/data-table.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";
import { ListSection } from "../../ui/list-section.tsx";
import { useMay } from "../../ui/permission.ts";
import { RowActions } from "../../ui/row-actions.tsx";

/** The phones of the account. */
export function ExtensionList() {
  const may = useMay("agents.manage");
  const maySeeUsers = useMay("users.read", "users.manage");
  const { data: users = [], isSuccess } = useQuery({
    ...allUsersQuery,
    enabled: may && maySeeUsers,
  });
  // A select drops a value for which it has no option yet.
  const isReady = may && (!maySeeUsers || isSuccess);
  const fields = fieldsOf(maySeeUsers ? users : null);
  return (
    <ListSection
      title="Extensions"
      actions={
        isReady && (
          <FormDialog
            title="New extension"
            fields={fields}
            action="Create extension"
            save={save(null)}
            trigger={<Button>New extension</Button>}
          />
        )
      }
      empty="None yet. An extension is a phone of the account."
      query={useQuery(extensionsQuery)}
      columns={isReady ? [...columns, actionsOf(fields)] : columns}
      keyOf={({ id }) => id}
    />
  );
}

/** Who may not see users does not change the extension's. */
const fieldsOf = (
  users: readonly { readonly id: number; readonly name: string }[] | null,
): readonly FormField[] => [
  { name: "extension", label: "Extension", kind: "text", note: "Two to six digits." },
  { name: "name", label: "Name", kind: "text" },
  ...(users === null
    ? []
    : [
        {
          name: "user_id",
          label: "User",
          kind: "choice",
          empty: "None",
          options: users.map(({ id, name }) => ({ value: id, label: name })),
        } as const,
      ]),
  {
    name: "digit",
    label: "Transfer key",
    kind: "text",
    empty: "None",
    note: "A digit: an agent presses * and it to transfer a call here.",
  },
];

const save = (id: number | null) => (json: FormValues, _: FormValues, key: string) =>
  saveExtension(id, json as Parameters<typeof saveExtension>[1], key);

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

const actionsOf = (fields: readonly FormField[]): Column<Extension> => ({
  header: "Action",
  cell: (row) => (
    <RowActions
      name={`extension ${row.extension}`}
      change={{ fields, known: row, save: save(row.id) }}
      remove={{
        text: "Calls cannot ring it any more.",
        act: async () => {
          await api.DELETE("/api/v1/extensions/{id}", { params: { path: { id: row.id } } });
          await queryClient.invalidateQueries({ queryKey: ["extensions"] });
        },
      }}
    />
  ),
});
