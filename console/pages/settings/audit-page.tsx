import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { auditQuery, type AuditEntry, type AuditFilter } from "../../api/account.ts";
import { audit_actions } from "../../from-server.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { allUsersQuery } from "../../api/users.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { DayFilter } from "../../ui/day-filter.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time, useTimeFormat } from "../../ui/time.tsx";
import { describeAction, describeDetail } from "./describe-action.ts";

const route = getRouteApi("/shell/settings/audit");

const columnsOf = (names: ReadonlyMap<number, string>): readonly Column<AuditEntry>[] => [
  {
    header: "What",
    cell: ({ action, subject_id }) => (
      <>
        {describeAction(action)}
        {subject_id !== null && <span className="text-muted"> {subject_id}</span>}
      </>
    ),
  },
  {
    header: "By",
    cell: ({ user_id }) =>
      user_id === null ? "An operator" : (names.get(user_id) ?? `User ${user_id}`),
  },
  {
    header: "Detail",
    wide: true,
    cell: ({ detail }) => <Detail detail={detail} />,
  },
  { header: "From", wide: true, cell: ({ address }) => address ?? "–" },
  { header: "Time", cell: ({ at }) => <Time at={at} /> },
];

function Detail({ detail }: Pick<AuditEntry, "detail">) {
  const lines = describeDetail(detail, useTimeFormat());
  if (lines.length === 0) return "–";
  return (
    <dl className="text-xs">
      {lines.map(([label, value]) => (
        <div key={label} className="flex gap-1.5">
          <dt className="text-muted shrink-0">{label}:</dt>
          <dd className="min-w-0 wrap-anywhere">{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Who changed what in the account, newest first. */
export function AuditPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const entries = useInfiniteQuery(auditQuery(filter));
  const mayReadUsers = useMay("users.read", "users.manage");
  const { data: users = [] } = useQuery({ ...allUsersQuery, enabled: mayReadUsers });
  const table = pagedRows(entries);
  const change = (changed: AuditFilter) => void navigate({ search: { ...filter, ...changed } });
  return (
    <Page
      title="Audit trail"
      text="Who changed what. Entries never change. They are kept without limit, or for the period set under Account: at least 365 days."
    >
      <div className="flex flex-wrap items-center gap-2">
        <FilterSelect
          label="Action"
          all="All actions"
          value={filter.action}
          options={actionsWith(filter.action)}
          onChange={(action) => change({ action })}
        />
        {users.length > 0 && (
          <FilterSelect
            label="User"
            all="Anyone"
            value={filter.user_id}
            options={users.map(({ id, name }) => ({ value: id, label: name }))}
            onChange={(user_id) => change({ user_id })}
          />
        )}
        <DayFilter from={filter.from} to={filter.to} onChange={change} />
      </div>
      <FormError error={entries.error} />
      {entries.isSuccess && table.rows.length === 0 ? (
        <EmptyState title="Nothing matches" text="Choose another action, user or day." />
      ) : (
        <DataTable
          label="Audit trail"
          columns={columnsOf(new Map(users.map(({ id, name }) => [id, name])))}
          {...table}
          keyOf={({ id }) => id}
        />
      )}
    </Page>
  );
}

/** Every action that is recorded, and the chosen one, which an earlier version may have recorded. */
function actionsWith(chosen: string | undefined) {
  const actions = new Set<string>(audit_actions);
  if (chosen !== undefined) actions.add(chosen);
  return [...actions]
    .map((action) => ({ value: action, label: describeAction(action) }))
    .toSorted((one, next) => one.label.localeCompare(next.label));
}
