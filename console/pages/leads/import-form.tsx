import { FileUp } from "lucide-react";
import { useState } from "react";
import { FormError } from "../../ui/form-error.tsx";
import { Panel } from "../../ui/panel.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { ImportCheck } from "./import-check.tsx";
import { ImportColumns } from "./import-columns.tsx";
import { RecentImports } from "./recent-imports.tsx";
import { useImportDraft, type ImportDraft } from "./use-import-draft.ts";

/** A file, its columns, what would be rejected, and only then the button that imports it. */
export function ImportForm({ workspace }: { readonly workspace: number }) {
  const draft = useImportDraft(workspace);
  return (
    <>
      <ImportFile draft={draft} />
      {draft.inspection.data && (
        <>
          <ImportColumns workspace={workspace} draft={draft} preview={draft.inspection.data} />
          <ImportCheck workspace={workspace} draft={draft} />
        </>
      )}
      {!draft.draft && <RecentImports workspace={workspace} />}
    </>
  );
}

function ImportFile({ draft: { draft, inspection, percent, choose } }: { draft: ImportDraft }) {
  const [isOver, setOver] = useState(false);
  return (
    <Panel title="File">
      <label
        onDragOver={(event) => {
          event.preventDefault();
          setOver(true);
        }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => {
          event.preventDefault();
          setOver(false);
          const file = event.dataTransfer.files[0];
          if (file) choose(file);
        }}
        className={`has-focus-visible:outline-accent flex cursor-pointer flex-col items-center gap-2 rounded-xl border border-dashed px-6 py-8 text-center has-focus-visible:outline-2 ${
          isOver ? "border-accent bg-hover" : "border-line hover:bg-hover"
        }`}
      >
        <FileUp aria-hidden className="text-muted size-6" />
        <span className="font-medium wrap-anywhere">
          {draft ? draft.file.name : "Choose a CSV file, or drop it here"}
        </span>
        <span className="text-muted text-xs">
          {draft
            ? "Choose or drop another file to replace it."
            : "The first row has the columns' names. At most 256 MB and 1,000,000 rows."}
        </span>
        <input
          type="file"
          aria-label="CSV file"
          accept=".csv,.txt,.tsv,text/csv,text/plain"
          className="sr-only"
          onChange={({ target }) => {
            const file = target.files?.[0];
            if (file) choose(file);
            // The same file can be chosen again once it was corrected.
            target.value = "";
          }}
        />
      </label>
      {inspection.isPending && <ProgressBar label="Upload" percent={percent} />}
      <FormError error={inspection.error && reasonOf(inspection.error)} />
    </Panel>
  );
}

/** The file's own violation says more than that the request is invalid. */
function reasonOf(error: Error): Error {
  const { errors = [] } = error as { errors?: readonly { field: string; reason: string }[] };
  const [first] = errors;
  return first ? new Error(`The ${first.field} ${first.reason}.`) : error;
}
