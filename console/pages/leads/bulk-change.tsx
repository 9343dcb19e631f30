import { useMutation } from "@tanstack/react-query";
import type { Answer, Row } from "../../api/answer.ts";
import { changeLeads } from "../../api/lead.ts";
import { Button } from "../../ui/button.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { toasts } from "../../ui/toasts.tsx";
import { optionsOf } from "./lead-options.ts";

/** As many as one request takes. */
const leads_max = 500;

/** What can be done to the leads that are ticked. */
export function BulkChange({
  workspace,
  ids,
  picklists,
  agents,
  onDone,
}: {
  readonly workspace: number;
  readonly ids: readonly number[];
  readonly picklists: Answer<"listPicklists"> | undefined;
  readonly agents: readonly Row<"listAgents">[];
  readonly onDone: () => void;
}) {
  const change = useMutation({
    mutationFn: async (patch: Omit<Parameters<typeof changeLeads>[1], "ids">) => {
      let updated = 0;
      for (let at = 0; at < ids.length; at += leads_max)
        updated += await changeLeads(workspace, { ...patch, ids: ids.slice(at, at + leads_max) });
      return updated;
    },
    onSuccess: (updated) => {
      toasts.add({ title: `${formatCount(updated)} leads changed` });
      onDone();
    },
  });
  return (
    <div className="border-line bg-panel sticky top-2 z-2 flex flex-wrap items-center gap-2 rounded-xl border p-2 shadow-sm">
      <p className="px-2 font-medium" role="status">
        {formatCount(ids.length)} selected
      </p>
      <FilterSelect
        label="Change status"
        all="Change status…"
        value={undefined}
        options={optionsOf(picklists?.status ?? [])}
        onChange={(statusId) => statusId !== undefined && change.mutate({ statusId })}
      />
      <FilterSelect
        label="Assign to"
        all="Assign to…"
        value={undefined}
        options={agents.map(({ id, name }) => ({ value: id, label: name }))}
        onChange={(id) => id !== undefined && change.mutate({ assignedAgentId: id })}
      />
      <Button busy={change.isPending} onClick={() => change.mutate({ assignedAgentId: null })}>
        Unassign
      </Button>
      <Button kind="quiet" onClick={onDone}>
        Clear
      </Button>
      <FormError error={change.error} />
    </div>
  );
}
