import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { callsQuery, type Call, type CallFilter } from "../../api/call-records.ts";
import { useRefresh } from "../../api/live.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { whyCallEnded } from "../../messages/call-reasons.ts";
import { buttonClass } from "../../ui/button.tsx";
import { ContactName } from "../../ui/contact-name.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { DayFilter } from "../../ui/day-filter.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ExportLink } from "../../ui/export-link.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatDuration } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { Time } from "../../ui/time.tsx";
import { CallStatusBadge } from "./call-status.tsx";
import { DialerLink } from "./dialer-link.tsx";
import { status_options, type_options } from "./calls-search.ts";

const route = getRouteApi("/shell/calls");

const columns: readonly Column<Call>[] = [
  {
    header: "Customer",
    cell: ({ call_id: id, to_number, contact_name }) => (
      <>
        <Link
          to="/calls/$id"
          params={{ id }}
          className="tabular-nums after:absolute after:inset-0 hover:underline"
        >
          {to_number === "" ? "Withheld" : to_number}
        </Link>
        <ContactName name={contact_name} />
      </>
    ),
  },
  { header: "State", cell: ({ status }) => <CallStatusBadge status={status} /> },
  {
    header: "How it ended",
    wide: true,
    cell: (call) => whyCallEnded(call)?.label ?? "–",
  },
  {
    header: "Kind",
    wide: true,
    cell: ({ type, campaign_name }) =>
      campaign_name ?? type_options.find(({ value }) => value === type)?.label,
  },
  { header: "From", wide: true, cell: ({ from_number }) => from_number || "–" },
  {
    header: "Talk",
    numeric: true,
    wide: true,
    cell: ({ talk_seconds }) =>
      talk_seconds === null ? "–" : formatDuration(talk_seconds * 1_000),
  },
  { header: "Time", cell: ({ queued_at }) => <Time at={queued_at} /> },
];

/** Every call of the account, newest first, live. */
export function CallsPage() {
  const filter = route.useSearch();
  const calls = useInfiniteQuery(callsQuery(filter));
  useRefresh(["call.initiated", "call.incoming", "call.answered", "call.completed"], ["calls"]);
  const table = pagedRows(calls);
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Page
      title="Calls"
      actions={
        <>
          <ExportLink path="/api/v1/calls/export" filter={filter} permission="calls.export" />
          <DialerLink kind="primary" />
        </>
      }
    >
      <Filters campaign={table.rows[0]?.campaign_name ?? null} />
      <FormError error={calls.error} />
      {calls.isSuccess && table.rows.length === 0 ? (
        <EmptyState
          title={isFiltered ? "No call matches these filters" : "No calls yet"}
          text={
            isFiltered
              ? "Choose another kind, state, number or day."
              : "Calls of campaigns, calls by a click and incoming calls appear here as they happen."
          }
        >
          {!isFiltered && <DialerLink kind="primary" />}
        </EmptyState>
      ) : (
        <DataTable label="Calls" columns={columns} {...table} keyOf={({ call_id }) => call_id} />
      )}
    </Page>
  );
}

function Filters({ campaign }: { readonly campaign: string | null }) {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changed: CallFilter) => void navigate({ search: { ...filter, ...changed } });
  return (
    <div className="flex flex-wrap items-center gap-2">
      <FilterSelect
        label="Kind"
        all="Any kind"
        value={filter.type}
        options={type_options}
        onChange={(type) => change({ type })}
      />
      <FilterSelect
        label="State"
        all="Any state"
        value={filter.status}
        options={status_options}
        onChange={(status) => change({ status })}
      />
      <SearchField
        label="Number"
        placeholder="Number or extension"
        value={filter.number}
        onSearch={(number) => change({ number })}
      />
      <DayFilter from={filter.from} to={filter.to} onChange={change} />
      {filter.campaign_id !== undefined && (
        <button
          type="button"
          className={buttonClass()}
          onClick={() => change({ campaign_id: undefined })}
        >
          Only {campaign === null ? "one campaign" : `“${campaign}”`} ×
        </button>
      )}
    </div>
  );
}
