import { Page } from "../../../ui/page.tsx";
import { AgentForm } from "./agent-form.tsx";

/** Begins an AI agent with an example that works. */
export function NewAgentPage() {
  return (
    <Page title="New AI agent" text="It begins with an example: change what it says and asks.">
      <AgentForm agent={null} />
    </Page>
  );
}
