import { useQuery } from "@tanstack/react-query";
import { agentGroupsQuery } from "../../api/agents.ts";
import { useRefresh } from "../../api/live.ts";
import { Button } from "../../ui/button.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { ExtensionList } from "./extension-list.tsx";
import { GroupNameDialog } from "./group-name-dialog.tsx";
import { GroupPanel } from "./group-panel.tsx";

/** Who takes calls: groups of agents with who is free, and the phones of the account. */
export function AgentGroupsPage() {
  const { data: groups, error } = useQuery(agentGroupsQuery);
  useRefresh(["call.initiated", "call.answered", "call.completed"], ["agent-groups"]);
  const may = useMay("agents.manage");
  const add = may && (
    <GroupNameDialog group={null} trigger={<Button kind="primary">New group</Button>} />
  );
  return (
    <Page
      title="Agents"
      text="Groups are rung in their order when a call is transferred to a person."
      actions={add}
    >
      <FormError error={error} />
      {groups?.length === 0 && (
        <EmptyState
          title="No groups yet"
          text="A group is rung by menus, AI agents and calls by a click."
        >
          {add}
        </EmptyState>
      )}
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-2">
        {groups?.map((group) => (
          <GroupPanel key={group.id} group={group} />
        ))}
      </div>
      <ExtensionList />
    </Page>
  );
}
