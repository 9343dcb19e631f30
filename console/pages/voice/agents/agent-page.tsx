import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { aiAgentQuery, type AiAgent } from "../../../api/voice.ts";
import { Button } from "../../../ui/button.tsx";
import { ConfirmDialog } from "../../../ui/confirm-dialog.tsx";
import { Missing } from "../../../ui/missing.tsx";
import { Page } from "../../../ui/page.tsx";
import { useMay } from "../../../ui/permission.ts";
import { CallPeople } from "../content/call-people.tsx";
import { AgentForm } from "./agent-form.tsx";

const route = getRouteApi("/shell/voice/agents/$id");

/** Edits one AI agent; without the permission to, only its greeting is shown. */
export function AgentPage() {
  const { id } = route.useParams();
  const { data: agent, error } = useQuery({ ...aiAgentQuery(id), refetchOnWindowFocus: false });
  const may = useMay("voice.content.manage");
  return (
    <Page
      title={agent?.name ?? "AI agent"}
      actions={agent && may && <AgentActions agent={agent} />}
    >
      {!agent ? (
        <Missing error={error} what="agent">
          <Link to="/voice/agents" className="text-accent underline">
            All AI agents
          </Link>
        </Missing>
      ) : may ? (
        <AgentForm key={id} agent={agent} />
      ) : (
        <blockquote className="bg-hover rounded-xl p-4">{agent.greeting}</blockquote>
      )}
    </Page>
  );
}

function AgentActions({ agent: { id, name } }: { readonly agent: AiAgent }) {
  const navigate = useNavigate();
  return (
    <>
      <ConfirmDialog
        title={`Delete ${name}?`}
        text="Only an agent that no content uses can be deleted. Campaigns keep the agent they began with."
        action="Delete"
        trigger={<Button>Delete</Button>}
        act={async () => {
          await api.DELETE("/api/v1/voice/agents/{id}", { params: { path: { id } } });
          await queryClient.invalidateQueries({ queryKey: ["ai-agents"] });
          await navigate({ to: "/voice/agents", ignoreBlocker: true });
        }}
      />
      <CallPeople name={name} plays={{ ai_agent_id: id }} />
    </>
  );
}
