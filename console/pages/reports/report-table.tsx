import type { ReactNode } from "react";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Stat } from "../../ui/stat.tsx";
import { ReportBars } from "./report-bars.tsx";
import { drawReport } from "./report-drawing.ts";

type Metric<Row> = {
  readonly header: string;
  readonly text: (row: Row) => string;
  readonly wide: boolean;
  readonly note?: string;
};

/** A report: the whole, a drawing, and a row for each day, campaign, number or agent. */
export function ReportTable<Row extends Totals & { readonly date?: string }, Totals>({
  label,
  rows,
  totals,
  metrics,
  nameOf,
  drawn,
  error,
  loading,
  loadMore,
  tryAgain,
}: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly totals: Totals | undefined;
  readonly metrics: readonly Metric<Totals>[];
  readonly nameOf: (row: Row) => string;
  /** The number that is drawn. */
  readonly drawn: (row: Row) => number;
  readonly error: Error | null;
  readonly loading: boolean;
  readonly loadMore: (() => void) | undefined;
  readonly tryAgain: (() => void) | undefined;
}): ReactNode {
  const keyed = rows.map((row, key) => ({ row, key }));
  const columns: readonly Column<(typeof keyed)[number]>[] = [
    { header: label, cell: ({ row }) => <span className="wrap-anywhere">{nameOf(row)}</span> },
    ...metrics.map(({ header, text, wide }) => ({
      header,
      numeric: true,
      wide,
      cell: ({ row }: (typeof keyed)[number]) => text(row),
    })),
  ];
  if (!loading && !error && rows.length === 0)
    return <EmptyState title="Nothing in this time" text="Choose other days." />;
  const { by, bars } = drawReport(
    label.toLowerCase(),
    rows.map((row) => ({ name: nameOf(row), date: row.date, count: drawn(row) })),
  );
  return (
    <>
      <FormError error={error} />
      {totals && (
        <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
          {metrics.slice(0, 4).map(({ header, text, note }) => (
            <Stat key={header} label={header} hint={note}>
              {text(totals)}
            </Stat>
          ))}
        </dl>
      )}
      <ReportBars title={`${metrics[0]!.header} by ${by}`} bars={bars} />
      <DataTable
        label={`By ${label.toLowerCase()}`}
        columns={columns}
        rows={keyed}
        loading={loading}
        loadMore={loadMore}
        tryAgain={tryAgain}
        keyOf={({ key }) => key}
      />
    </>
  );
}
