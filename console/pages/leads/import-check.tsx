import type { ImportPreview } from "../../api/lead-imports.ts";
import { ApiProblem } from "../../api/problem.ts";
import { Button } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { FormActions } from "../../ui/form-actions.tsx";
import { Stat } from "../../ui/stat.tsx";
import { useImportFields } from "./import-fields.ts";
import { RejectTable } from "./reject-table.tsx";
import type { ImportDraft } from "./use-import-draft.ts";

type Check = NonNullable<ImportPreview["check"]>;
type Props = { readonly workspace: number; readonly draft: ImportDraft };

/** What an import would reject and why, before anything is stored. */
export function ImportCheck({ workspace, draft }: Props) {
  const { check, start, percent } = draft;
  const found = check.data?.check;
  const isSending = check.isPending || start.isPending;
  return (
    <Panel title="Check">
      {found ? (
        <CheckResult workspace={workspace} check={found} />
      ) : (
        <p className="text-muted">
          The check shows which rows would be rejected, and why. Nothing is imported yet.
        </p>
      )}
      {isSending && <ProgressBar label="Upload" percent={percent} />}
      <FormError error={errorOf(check.error ?? start.error)} />
      {found ? (
        <FormActions submit={() => start.mutateAsync(draft.draft!)}>
          <StartButton check={found} draft={draft} />
        </FormActions>
      ) : (
        <Button
          kind="primary"
          className="self-end"
          busy={check.isPending}
          onClick={() => draft.draft && check.mutate(draft.draft)}
        >
          Check the file
        </Button>
      )}
    </Panel>
  );
}

function StartButton({ check, draft: { draft, start } }: { check: Check; draft: ImportDraft }) {
  const good = check.checkedCount - check.rejectedCount;
  if (good === 0 && check.complete)
    return <p className="text-danger">No row of this file can be imported.</p>;
  return (
    <Button kind="primary" busy={start.isPending} onClick={() => draft && start.mutate(draft)}>
      {check.complete
        ? `Import ${formatCount(good)} ${good === 1 ? "lead" : "leads"}`
        : "Import the whole file"}
    </Button>
  );
}

function CheckResult({ workspace, check }: { readonly workspace: number; readonly check: Check }) {
  const { describe } = useImportFields(workspace);
  const { checkedCount, rejectedCount, complete, reasons, rejects } = check;
  return (
    <>
      <div role="status">
        <dl className="grid gap-3 sm:grid-cols-3">
          <Stat
            label="Rows checked"
            hint={
              complete ? "The whole file" : "The beginning of the file; import checks the rest too"
            }
          >
            {formatCount(checkedCount)}
          </Stat>
          <Stat label="Would become leads">{formatCount(checkedCount - rejectedCount)}</Stat>
          <Stat label="Would be rejected">{formatCount(rejectedCount)}</Stat>
        </dl>
      </div>
      {rejectedCount > 0 && (
        <>
          <ul aria-label="Reasons" className="flex flex-col gap-1">
            {reasons.map((reason) => (
              <li key={`${reason.field} ${reason.reason}`} className="wrap-anywhere">
                <span className="font-medium tabular-nums">{formatCount(reason.count)} ×</span>{" "}
                {describe(reason)}
              </li>
            ))}
          </ul>
          <RejectTable
            label={
              rejects.length < rejectedCount
                ? `The first ${rejects.length} rows that would be rejected`
                : "Rows that would be rejected"
            }
            workspace={workspace}
            rows={rejects}
          />
        </>
      )}
    </>
  );
}

/** Violations of columns are shown at the columns. */
function errorOf(error: Error | null): Error | null {
  if (!(error instanceof ApiProblem) || error.errors.length === 0) return error;
  const first = error.errors.find(({ field }) => !field.startsWith("columnMap."));
  if (!first) return null;
  return first.field === "Idempotency-Key"
    ? new Error("This file was already sent with other columns: see its import in the list.")
    : new Error(`The ${first.field} ${first.reason}.`);
}
