import type { LeadReject } from "../../api/lead-imports.ts";
import { DataTable } from "../../ui/data-table.tsx";
import { useImportFields } from "./import-fields.ts";

/** Rejected rows with their place in the file, what they have, and every reason. */
export function RejectTable({
  label,
  workspace,
  rows,
  loading = false,
  loadMore,
  tryAgain,
}: {
  readonly label: string;
  readonly workspace: number;
  readonly rows: readonly LeadReject[];
  readonly loading?: boolean;
  readonly loadMore?: (() => void) | undefined;
  readonly tryAgain?: (() => void) | undefined;
}) {
  const { describe } = useImportFields(workspace);
  return (
    <DataTable
      label={label}
      rows={rows}
      keyOf={({ row }) => row}
      loading={loading}
      loadMore={loadMore}
      tryAgain={tryAgain}
      columns={[
        { header: "Row", cell: ({ row }) => <span className="tabular-nums">{row}</span> },
        {
          header: "Reason",
          cell: ({ row, errors }) =>
            errors.map((error) => (
              <span key={`${row} ${error.field}`} className="block wrap-anywhere">
                {describe(error)}
              </span>
            )),
        },
        {
          header: "In the file",
          wide: true,
          cell: ({ cells }) => (
            <span className="text-muted line-clamp-1 wrap-anywhere">
              {cells.filter((cell) => cell.trim() !== "").join(" · ")}
            </span>
          ),
        },
      ]}
    />
  );
}
