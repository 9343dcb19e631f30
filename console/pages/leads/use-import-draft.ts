import { useMutation } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useState } from "react";
import { previewImport, startImport, type ColumnMap } from "../../api/lead-imports.ts";
import { ApiProblem } from "../../api/problem.ts";

const route = getRouteApi("/shell/leads/import");

/** A file that was chosen. It has one idempotency key, so that a double press or a lost answer is one import. */
type Draft = { readonly file: File; readonly key: string };

/** The file with its columns, what an import of it would reject, and the import itself. */
export function useImportDraft(workspace: number) {
  const navigate = route.useNavigate();
  const [draft, setDraft] = useState<Draft>();
  const [changed, setChanged] = useState<ColumnMap>();
  const [percent, setPercent] = useState(0);
  const sent = (file: File) => ({ workspace, file, onProgress: setPercent });
  const inspection = useMutation({ mutationFn: (file: File) => previewImport(sent(file)) });
  const map = changed ?? inspection.data?.columnMap ?? {};
  const check = useMutation({ mutationFn: ({ file }: Draft) => previewImport(sent(file), map) });
  const start = useMutation({
    mutationFn: ({ file, key }: Draft) => startImport(sent(file), map, key),
    onSuccess: (id) => navigate({ search: { workspace, import: id } }),
  });
  const reset = () => {
    setPercent(0);
    check.reset();
    start.reset();
  };
  const refused = check.error ?? start.error;
  return {
    draft,
    inspection,
    map,
    check,
    start,
    percent,
    errors: refused instanceof ApiProblem ? refused.errors : [],
    choose(file: File) {
      reset();
      setChanged(undefined);
      setDraft({ file, key: crypto.randomUUID() });
      inspection.mutate(file);
    },
    /** Fills a field from a column; each field has one column, and each column fills one field. */
    assign(header: string, field: string) {
      reset();
      const others = Object.entries(map).filter(([name, of]) => name !== field && of !== header);
      setChanged(Object.fromEntries(field === "" ? others : [...others, [field, header]]));
    },
  };
}

export type ImportDraft = ReturnType<typeof useImportDraft>;
