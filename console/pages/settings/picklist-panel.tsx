import { useMutation, useQuery } from "@tanstack/react-query";
import {
  allOptionsQuery,
  changeOption,
  deleteOption,
  orderOptions,
  type OptionPlace,
  type PicklistOption,
} from "../../api/lead-fields.ts";
import { Badge } from "../../ui/badge.tsx";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { SortableList } from "../../ui/sortable-list.tsx";
import { ArchiveAndDelete } from "./archive-and-delete.tsx";
import { ArchivedList } from "./archived-list.tsx";
import { OptionDialog } from "./option-dialog.tsx";

/** The options of a picklist in their order, and those that are archived. */
export function PicklistPanel({ title, ...place }: OptionPlace & { readonly title: string }) {
  const { data, error } = useQuery(allOptionsQuery(place.workspaceId));
  const order = useMutation({
    // One after the other: each stores the whole order.
    scope: { id: `order of ${place.picklist}` },
    mutationFn: (options: readonly PicklistOption[]) => orderOptions(place, options),
  });
  const options = data?.[place.picklist] ?? [];
  return (
    <Panel
      title={title}
      actions={<OptionDialog place={place} trigger={<Button>Add to {title}</Button>} />}
    >
      <FormError error={error ?? order.error} />
      <SortableList
        label={title}
        items={order.isPending ? order.variables : options.filter(({ archived }) => !archived)}
        keyOf={({ id }) => id}
        nameOf={({ label }) => label}
        busy={order.isPending}
        onOrder={(ordered) => order.mutate(ordered)}
      >
        {(option) => <Row place={place} option={option} />}
      </SortableList>
      <ArchivedList
        items={options.filter(({ archived }) => archived)}
        restore={({ id }) => changeOption(place, id, { archived: false })}
      />
    </Panel>
  );
}

function Row({ place, option }: { readonly place: OptionPlace; readonly option: PicklistOption }) {
  const { id, label, color, isDefault } = option;
  return (
    <div className="flex flex-wrap items-center justify-between gap-2">
      <span className="flex min-w-0 items-center gap-2 wrap-anywhere">
        <span
          aria-hidden
          style={{ backgroundColor: color ?? "transparent" }}
          className="border-line size-3 shrink-0 rounded-full border"
        />
        {label}
        {isDefault && <Badge tone="neutral">Default</Badge>}
      </span>
      <span className="flex gap-1">
        <OptionDialog
          place={place}
          option={option}
          trigger={
            <Button kind="quiet" aria-label={`Edit ${label}`}>
              Edit
            </Button>
          }
        />
        {!isDefault && (
          <ArchiveAndDelete
            label={label}
            archive_text="Leads that have it keep it; new leads cannot get it. It can be restored."
            delete_text="Only an option that no lead has can be deleted; archive others."
            archive={() => changeOption(place, id, { archived: true })}
            remove={() => deleteOption(place, id)}
          />
        )}
      </span>
    </div>
  );
}
