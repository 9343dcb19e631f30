import { useInfiniteQuery } from "@tanstack/react-query";
import { erasuresQuery, type Erasure } from "../../api/erasures.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { describeErasure } from "../../messages/erasures.ts";
import { Badge } from "../../ui/badge.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";

const columns: readonly Column<Erasure>[] = [
  { header: "Number", cell: ({ phone_number }) => phone_number },
  {
    header: "State",
    cell: ({ state }) =>
      state === "done" ? <Badge tone="good">Done</Badge> : <Badge tone="busy">In progress</Badge>,
  },
  { header: "What was erased", wide: true, cell: describeErasure },
  { header: "Requested", cell: ({ requested_at }) => <Time at={requested_at} /> },
  {
    header: "Done",
    wide: true,
    cell: ({ finished_at }) => (finished_at === null ? "–" : <Time at={finished_at} />),
  },
];

/** The proof of what was erased, and when. */
export function ErasuresPage() {
  const erasures = useInfiniteQuery(erasuresQuery);
  const table = pagedRows(erasures);
  return (
    <Page title="Erasures" text="People whose data was erased. Find a person to erase another.">
      <FormError error={erasures.error} />
      {erasures.isSuccess && table.rows.length === 0 ? (
        <EmptyState title="No erasures yet" text="A person is erased on their own page." />
      ) : (
        <DataTable label="Erasures" columns={columns} {...table} keyOf={({ id }) => id} />
      )}
    </Page>
  );
}
