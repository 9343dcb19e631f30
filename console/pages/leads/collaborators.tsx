import { useMutation, useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";
import { useState } from "react";
import type { Answer } from "../../api/answer.ts";
import { addCollaborator, removeCollaborator } from "../../api/lead.ts";
import { agentsQuery } from "../../api/leads.ts";
import { Button } from "../../ui/button.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";

/** Who else works on the lead. */
export function Collaborators({ lead }: { readonly lead: Answer<"readLead"> }) {
  const { id: leadId, workspaceId, collaborators } = lead;
  const place = { workspaceId, leadId };
  const { data: agents = [] } = useQuery(agentsQuery(workspaceId));
  const may_change = useMay("crm.write");
  const [chosen, setChosen] = useState<number>();
  const add = useMutation({
    mutationFn: (user: number) => addCollaborator(place, user),
    onSuccess: () => setChosen(undefined),
  });
  const remove = useMutation({ mutationFn: (user: number) => removeCollaborator(place, user) });
  const others = agents.filter(
    ({ id, active }) => active && !collaborators.some((each) => each.id === id),
  );
  return (
    <Panel title="Collaborators">
      {collaborators.length === 0 ? (
        <p className="text-muted">Nobody else works on this lead.</p>
      ) : (
        <ul className="flex flex-col gap-1">
          {collaborators.map(({ id, name, email }) => (
            <li key={id} className="flex items-center justify-between gap-2">
              <span className="min-w-0">
                <span className="block truncate">{name}</span>
                <span className="text-muted block truncate text-xs">{email}</span>
              </span>
              {may_change && (
                <button
                  type="button"
                  aria-label={`Remove ${name}`}
                  className="hover:bg-hover rounded-lg p-1.5"
                  onClick={() => remove.mutate(id)}
                >
                  <X aria-hidden className="size-4" />
                </button>
              )}
            </li>
          ))}
        </ul>
      )}
      <FormError error={add.error ?? remove.error} />
      {may_change && others.length > 0 && (
        <div className="flex flex-wrap gap-2">
          <FilterSelect
            label="Add a collaborator"
            all="Add a collaborator…"
            value={chosen}
            options={others.map(({ id, name }) => ({ value: id, label: name }))}
            onChange={setChosen}
          />
          <Button
            busy={add.isPending}
            disabled={chosen === undefined}
            onClick={() => chosen !== undefined && add.mutate(chosen)}
          >
            Add
          </Button>
        </div>
      )}
    </Panel>
  );
}
