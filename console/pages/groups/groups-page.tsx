import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { groupListQuery, type Group } from "../../api/groups.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { NewGroupDialog } from "./new-group-dialog.tsx";

const columns: readonly Column<Group>[] = [
  {
    header: "Name",
    cell: ({ id, name }) => (
      <Link
        to="/groups/$id"
        params={{ id }}
        className="wrap-anywhere after:absolute after:inset-0 hover:underline"
      >
        {name}
      </Link>
    ),
  },
  {
    header: "Members",
    numeric: true,
    cell: ({ members_count }) => formatCount(members_count),
  },
  { header: "Changed", wide: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
  { header: "Created", wide: true, cell: ({ created_at }) => <Time at={created_at} /> },
];

export function GroupsPage() {
  const groups = useInfiniteQuery(groupListQuery);
  const may_manage = useMay("groups.manage");
  const table = pagedRows(groups);
  return (
    <Page
      title="Groups"
      text="People that campaigns can be sent to, kept under a name."
      actions={may_manage && <NewGroupDialog />}
    >
      <FormError error={groups.error} />
      {groups.isSuccess && table.rows.length === 0 ? (
        <EmptyState
          title="No groups yet"
          text="Create one and add people by pasting numbers or from a CSV file."
        />
      ) : (
        (groups.data || !groups.error) && (
          <DataTable label="Groups" columns={columns} {...table} keyOf={({ id }) => id} />
        )
      )}
    </Page>
  );
}
