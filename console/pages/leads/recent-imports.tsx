import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { leadImportsQuery, type LeadImport } from "../../api/lead-imports.ts";
import { Badge } from "../../ui/badge.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { Time } from "../../ui/time.tsx";

const states = {
  processing: { label: "In progress", tone: "busy" },
  completed: { label: "Completed", tone: "good" },
  failed: { label: "Failed", tone: "bad" },
} as const;

export function ImportState({ state }: Pick<LeadImport, "state">) {
  const { label, tone } = states[state];
  return <Badge tone={tone}>{label}</Badge>;
}

/** The last imports of the workspace; an import goes on when its page is left. */
export function RecentImports({ workspace }: { readonly workspace: number }) {
  const { data: imports = [], error } = useQuery(leadImportsQuery(workspace));
  if (imports.length === 0) return <FormError error={error} />;
  return (
    <Panel title="Recent imports">
      <ul className="divide-line divide-y">
        {imports.map(({ id, fileName, state, createdAt, createdCount, rejectedCount }) => (
          <li
            key={id}
            className="flex flex-wrap items-center justify-between gap-x-4 gap-y-1 py-2.5"
          >
            <Link
              to="/leads/import"
              search={{ workspace, import: id }}
              className="min-w-0 font-medium wrap-anywhere underline-offset-4 hover:underline"
            >
              {fileName || `Import ${id}`}
            </Link>
            <span className="text-muted flex flex-wrap items-center gap-3">
              {formatCount(createdCount)} created, {formatCount(rejectedCount)} rejected
              <Time at={createdAt} />
              <ImportState state={state} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
