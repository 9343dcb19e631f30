import type { UseQueryResult } from "@tanstack/react-query";
import { useId, type ReactNode } from "react";
import { DataTable, type Column } from "./data-table.tsx";
import { FormError } from "./form-error.tsx";

/** A part of a page with a short list: its title, what can be added, and a table. */
export function ListSection<Row>({
  title,
  text,
  actions,
  empty,
  query: { data, error, isPending },
  columns,
  keyOf,
}: {
  readonly title: string;
  readonly text?: string;
  readonly actions?: ReactNode;
  /** What is said of an empty list. */
  readonly empty: string;
  readonly query: Pick<UseQueryResult<readonly Row[]>, "data" | "error" | "isPending">;
  readonly columns: readonly Column<Row>[];
  readonly keyOf: (row: Row) => number;
}) {
  const id = useId();
  return (
    <section aria-labelledby={id} className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <div className="min-w-0">
          <h2 id={id} className="font-semibold">
            {title}
          </h2>
          {text && <p className="text-muted">{text}</p>}
        </div>
        <div className="flex flex-wrap gap-2">{actions}</div>
      </div>
      <FormError error={error} />
      {data?.length === 0 ? (
        <p className="text-muted">{empty}</p>
      ) : (
        (data || !error) && (
          <DataTable
            label={title}
            columns={columns}
            rows={data ?? []}
            loading={isPending}
            keyOf={keyOf}
          />
        )
      )}
    </section>
  );
}
