import type { ReactElement } from "react";
import { saveAgentGroup, type AgentGroup } from "../../api/agents.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import type { FormField } from "../../ui/form-fields.tsx";

const fields: readonly FormField[] = [{ name: "name", label: "Name", kind: "text" }];

/** Creates a group of agents, or renames one. */
export function GroupNameDialog({
  group,
  trigger,
}: {
  readonly group: AgentGroup | null;
  readonly trigger: ReactElement;
}) {
  return (
    <FormDialog
      title={group ? `Rename ${group.name}` : "New group of agents"}
      fields={fields}
      known={group ?? {}}
      action={group ? "Rename" : "Create group"}
      save={(json, _, key) =>
        saveAgentGroup(group?.id ?? null, json as Parameters<typeof saveAgentGroup>[1], key)
      }
      trigger={trigger}
    />
  );
}
