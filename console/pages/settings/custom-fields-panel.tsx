import { useMutation, useQuery } from "@tanstack/react-query";
import {
  allFieldsQuery,
  changeField,
  deleteField,
  orderFields,
  type CustomField,
} from "../../api/lead-fields.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { SortableList } from "../../ui/sortable-list.tsx";
import { ArchiveAndDelete } from "./archive-and-delete.tsx";
import { ArchivedList } from "./archived-list.tsx";
import { field_types } from "./custom-field-types.ts";
import { CustomFieldDialog } from "./custom-field-dialog.tsx";

/** The account's own fields of a lead, in their order. */
export function CustomFieldsPanel({ workspaceId }: { readonly workspaceId: number }) {
  const { data: fields = [], error, isSuccess } = useQuery(allFieldsQuery(workspaceId));
  const order = useMutation({
    // One after the other: each stores the whole order.
    scope: { id: "order of custom fields" },
    mutationFn: (ordered: readonly CustomField[]) => orderFields(workspaceId, ordered),
  });
  const shown = fields.filter(({ archived }) => !archived);
  return (
    <Panel
      title="Custom fields"
      actions={
        <CustomFieldDialog workspaceId={workspaceId} trigger={<Button>Add a field</Button>} />
      }
    >
      <FormError error={error ?? order.error} />
      {isSuccess && shown.length === 0 && (
        <p className="text-muted">
          None yet. A field of your own, such as a contract number, is on every lead, in imports and
          exports.
        </p>
      )}
      <SortableList
        label="Custom fields"
        items={order.isPending ? order.variables : shown}
        keyOf={({ id }) => id}
        nameOf={({ label }) => label}
        busy={order.isPending}
        onOrder={(ordered) => order.mutate(ordered)}
      >
        {(field) => <Row workspaceId={workspaceId} field={field} />}
      </SortableList>
      <ArchivedList
        items={fields.filter(({ archived }) => archived)}
        restore={({ id }) => changeField(workspaceId, id, { archived: false })}
      />
    </Panel>
  );
}

function Row({
  workspaceId,
  field,
}: {
  readonly workspaceId: number;
  readonly field: CustomField;
}) {
  const { id, key, label, type, required } = field;
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <div className="min-w-0 wrap-anywhere">
        <p className="flex flex-wrap items-center gap-2">
          {label}
          {required && <Badge tone="neutral">Required</Badge>}
        </p>
        <p className="text-muted text-xs">
          {field_types[type]}, <code>{key}</code>
        </p>
      </div>
      <span className="flex gap-1">
        <CustomFieldDialog
          workspaceId={workspaceId}
          field={field}
          trigger={
            <Button kind="quiet" aria-label={`Edit ${label}`}>
              Edit
            </Button>
          }
        />
        <ArchiveAndDelete
          label={label}
          archive_text="Leads keep their values and get no new ones. It can be restored."
          delete_text="Only a field that no lead uses can be deleted; archive others."
          archive={() => changeField(workspaceId, id, { archived: true })}
          remove={() => deleteField(workspaceId, id)}
        />
      </span>
    </div>
  );
}
