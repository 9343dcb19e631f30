import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import type { Answer, Row } from "../../api/answer.ts";
import { changeLeads } from "../../api/lead.ts";
import { Button } from "../../ui/button.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount, formatCountOf } from "../../ui/numbers.ts";
import { toasts } from "../../ui/toasts.tsx";
import { optionsOf } from "./lead-options.ts";

/** As many as one request takes. */
const leads_max = 500;

const no_agent = { value: "none", label: "No agent" } as const;

type Patch = Omit<Parameters<typeof changeLeads>[1], "ids">;

/** What can be done to the leads that are ticked. A choice is applied by a button: arrow keys choose as they pass. */
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
  const [chosen, setChosen] = useState<Patch>({});
  const change = useMutation({
    mutationFn: async (patch: Patch) => {
      let updated = 0;
      for (let at = 0; at < ids.length; at += leads_max)
        updated += await changeLeads(workspace, { ...patch, ids: ids.slice(at, at + leads_max) });
      return updated;
    },
    onSuccess: (updated) => {
      toasts.add({ title: formatCountOf(updated, "lead changed", "leads changed") });
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
        value={chosen.statusId}
        options={optionsOf(picklists?.status ?? [])}
        onChange={(statusId) => setChosen({ ...chosen, statusId })}
      />
      <FilterSelect
        label="Assign to"
        all="Assign to…"
        value={chosen.assignedAgentId === null ? no_agent.value : chosen.assignedAgentId}
        options={[
          no_agent,
          ...agents
            .filter(({ active }) => active)
            .map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onChange={(agent) =>
          setChosen({ ...chosen, assignedAgentId: agent === no_agent.value ? null : agent })
        }
      />
      <Button
        kind="primary"
        busy={change.isPending}
        disabled={chosen.statusId === undefined && chosen.assignedAgentId === undefined}
        onClick={() => change.mutate(chosen)}
      >
        Apply to {formatCountOf(ids.length, "lead", "leads")}
      </Button>
      <Button kind="quiet" onClick={onDone}>
        Clear
      </Button>
      <FormError error={change.error} />
    </div>
  );
}
