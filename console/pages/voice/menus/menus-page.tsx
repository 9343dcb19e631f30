import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { menusQuery, type Menu } from "../../../api/voice.ts";
import { buttonClass } from "../../../ui/button.tsx";
import { DataTable, type Column } from "../../../ui/data-table.tsx";
import { EmptyState } from "../../../ui/empty-state.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { formatCount } from "../../../ui/numbers.ts";
import { Page } from "../../../ui/page.tsx";
import { useMay } from "../../../ui/permission.ts";
import { Time } from "../../../ui/time.tsx";

const columns: readonly Column<Menu>[] = [
  {
    header: "Name",
    cell: ({ id, name }) => (
      <Link
        to="/voice/menus/$id"
        params={{ id }}
        className="wrap-anywhere after:absolute after:inset-0 hover:underline"
      >
        {name}
      </Link>
    ),
  },
  {
    header: "Steps",
    numeric: true,
    cell: ({ nodes }) => formatCount(Object.keys(nodes).length),
  },
  { header: "Changed", wide: true, cell: ({ updated_at }) => <Time at={updated_at} /> },
];

/** The menus of calls. */
export function MenusPage() {
  const { data: menus, error, isPending } = useQuery(menusQuery);
  return (
    <Page title="Menus" text="What callers choose by keys." actions={<NewMenu />}>
      <FormError error={error} />
      {menus?.length === 0 ? (
        <EmptyState
          title="No menus yet"
          text="A menu asks people to press keys: to talk to an agent, to enter digits, to stop the calls."
        >
          <NewMenu />
        </EmptyState>
      ) : (
        <DataTable
          label="Menus"
          columns={columns}
          rows={menus ?? []}
          loading={isPending}
          loadMore={undefined}
          keyOf={({ id }) => id}
        />
      )}
    </Page>
  );
}

function NewMenu() {
  if (!useMay("voice.content.manage")) return null;
  return (
    <Link to="/voice/menus/new" className={buttonClass("primary")}>
      New menu
    </Link>
  );
}
