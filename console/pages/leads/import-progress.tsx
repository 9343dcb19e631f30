import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRefresh } from "../../api/live.ts";
import { leadImportQuery, leadRejectsQuery, type LeadImport } from "../../api/lead-imports.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { buttonClass } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { Stat } from "../../ui/stat.tsx";
import { ImportState } from "./recent-imports.tsx";
import { RejectTable } from "./reject-table.tsx";

/** An import while it runs, live, and what it did. */
export function ImportProgress({
  workspace,
  id,
}: {
  readonly workspace: number;
  readonly id: number;
}) {
  const { data: found, error } = useQuery(leadImportQuery(workspace, id));
  useRefresh(["lead.created"], leadImportQuery(workspace, id).queryKey);
  if (!found) return <FormError error={error} />;
  const { fileName, state, failure, totalRows, createdCount, rejectedCount } = found;
  const done = createdCount + rejectedCount;
  return (
    <>
      <Panel title={fileName || `Import ${id}`} actions={<ImportState state={state} />}>
        <ProgressBar
          label="Rows imported"
          percent={totalRows === 0 ? 100 : Math.floor((done / totalRows) * 100)}
        />
        <dl className="grid gap-3 sm:grid-cols-3">
          <Stat label="Rows in the file">{formatCount(totalRows)}</Stat>
          <Stat label="Leads created">{formatCount(createdCount)}</Stat>
          <Stat label="Rows rejected">{formatCount(rejectedCount)}</Stat>
        </dl>
        {state === "processing" && (
          <p className="text-muted">The import goes on when you leave this page.</p>
        )}
        {failure !== null && (
          <p role="alert" className="text-danger">
            The import ended early: {failure}. The leads that were created stay.
          </p>
        )}
        <FormError error={error} />
      </Panel>
      {state !== "processing" && rejectedCount > 0 && (
        <Rejects workspace={workspace} found={found} />
      )}
    </>
  );
}

function Rejects({ workspace, found }: { readonly workspace: number; readonly found: LeadImport }) {
  const rejects = useInfiniteQuery(leadRejectsQuery(workspace, found.id));
  return (
    <Panel
      title="Rejected rows"
      actions={
        <a
          href={`/api/v1/crm/workspaces/${workspace}/leads/imports/${found.id}/rejects?format=csv`}
          download
          className={buttonClass("plain")}
        >
          Download them
        </a>
      }
    >
      <p className="text-muted">
        Download them as a CSV file, correct them, and import that file with the same columns.
      </p>
      <FormError error={rejects.error} />
      <RejectTable label="Rejected rows" workspace={workspace} {...pagedRows(rejects)} />
    </Panel>
  );
}
