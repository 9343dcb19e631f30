import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { aiAgentsQuery, type AiAgent } from "../../../api/voice.ts";
import { buttonClass } from "../../../ui/button.tsx";
import { DataTable, type Column } from "../../../ui/data-table.tsx";
import { EmptyState } from "../../../ui/empty-state.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { Page } from "../../../ui/page.tsx";
import { useMay } from "../../../ui/permission.ts";
import { Time } from "../../../ui/time.tsx";

const columns: readonly Column<AiAgent>[] = [
  {
    header: "Name",
    cell: ({ id, name }) => (
      <Link
        to="/voice/agents/$id"
        params={{ id }}
        className="wrap-anywhere after:absolute after:inset-0 hover:underline"
      >
        {name}
      </Link>
    ),
  },
  {
    header: "How it talks",
    cell: ({ driver }) => (driver === "scripted" ? "By a script" : "By instructions"),
  },
  { header: "Language", wide: true, cell: ({ language }) => language },
  { header: "Changed", wide: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
];

/** The AI agents of campaigns. */
export function AgentsPage() {
  const { data: agents, error, isPending } = useQuery(aiAgentsQuery);
  return (
    <Page
      title="AI agents"
      text="They hold a conversation, ask for what you need, and transfer to a person."
      actions={<NewAgent />}
    >
      <FormError error={error} />
      {agents?.length === 0 ? (
        <EmptyState
          title="No AI agents yet"
          text="A scripted agent needs no key and no other service; it answers to keys and words."
        >
          <NewAgent />
        </EmptyState>
      ) : (
        <DataTable
          label="AI agents"
          columns={columns}
          rows={agents ?? []}
          loading={isPending}
          loadMore={undefined}
          keyOf={({ id }) => id}
        />
      )}
    </Page>
  );
}

function NewAgent() {
  if (!useMay("voice.content.manage")) return null;
  return (
    <Link to="/voice/agents/new" className={buttonClass("primary")}>
      New agent
    </Link>
  );
}
