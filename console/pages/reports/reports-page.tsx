import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { pagedRows } from "../../api/paged-rows.ts";
import {
  callReportQuery,
  chatReportQuery,
  type CallGroup,
  type ReportRange,
} from "../../api/reports.ts";
import { DayFilter } from "../../ui/day-filter.tsx";
import { ExportLink } from "../../ui/export-link.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { Page } from "../../ui/page.tsx";
import { call_metrics, chat_metrics, nameOfCallRow, nameOfChatRow } from "./report-rows.ts";
import { ReportTable } from "./report-table.tsx";
import { group_options, type ReportKind, type ReportsSearch } from "./reports-search.ts";

const route = getRouteApi("/shell/reports");
const shell = getRouteApi("/shell");

/** What a report groups by: messages have no agent. */
const groupOf = (kind: ReportKind, by: CallGroup = "day") =>
  kind === "chat" && by === "agent" ? "day" : by;

/** Messages and calls by day, campaign, number or agent. */
export function ReportsPage() {
  const { features } = shell.useRouteContext().me.account;
  const hasChat = features.includes("bulk_chat");
  const hasCalls = features.includes("calls") || features.includes("voice");
  const { report, by, from, to } = route.useSearch();
  const kind = report ?? (hasChat ? "chat" : "calls");
  const range = { ...(from ? { from } : {}), ...(to ? { to } : {}) };
  return (
    <Page
      title="Reports"
      text={from || to ? undefined : "The last 30 days, today included."}
      actions={<Export kind={kind} by={groupOf(kind, by)} range={range} />}
    >
      <Filters kind={kind} both={hasChat && hasCalls} />
      {kind === "chat" ? (
        <ChatReport by={groupOf(kind, by)} range={range} />
      ) : (
        <CallReport by={groupOf(kind, by)} range={range} />
      )}
    </Page>
  );
}

function Filters({ kind, both }: { readonly kind: ReportKind; readonly both: boolean }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const change = (changed: ReportsSearch) => void navigate({ search: { ...search, ...changed } });
  return (
    <div className="flex flex-wrap items-center gap-2">
      {both && (
        <FilterSelect
          label="Report"
          all="Messages"
          value={kind === "calls" ? "calls" : undefined}
          options={[{ value: "calls", label: "Calls" }]}
          onChange={(value) => change({ report: value ?? "chat" })}
        />
      )}
      <FilterSelect
        label="By"
        all="By day"
        value={search.by === "day" ? undefined : search.by}
        options={group_options
          .filter(({ value }) => value !== "day" && (kind === "calls" || value !== "agent"))
          .map(({ value, label }) => ({ value, label: `By ${label.toLowerCase()}` }))}
        onChange={(by) => change({ by })}
      />
      <DayFilter from={search.from} to={search.to} onChange={change} />
    </div>
  );
}

type Props = { readonly by: CallGroup; readonly range: ReportRange };

const labelOf = (by: CallGroup) => group_options.find(({ value }) => value === by)!.label;

function ChatReport({ by, range }: Props) {
  const query = useInfiniteQuery(chatReportQuery(by === "agent" ? "day" : by, range));
  return (
    <ReportTable
      label={labelOf(by)}
      {...pagedRows(query)}
      totals={query.data?.pages[0]?.totals}
      metrics={chat_metrics}
      nameOf={nameOfChatRow}
      drawn={({ sent }) => sent}
      error={query.error}
    />
  );
}

function CallReport({ by, range }: Props) {
  const query = useInfiniteQuery(callReportQuery(by, range));
  return (
    <ReportTable
      label={labelOf(by)}
      {...pagedRows(query)}
      totals={query.data?.pages[0]?.totals}
      metrics={call_metrics}
      nameOf={nameOfCallRow}
      drawn={({ calls }) => calls}
      error={query.error}
    />
  );
}

function Export({ kind, by, range }: Props & { readonly kind: ReportKind }) {
  const path = kind === "chat" ? "/api/v1/reports/chat/export" : "/api/v1/reports/calls/export";
  return <ExportLink path={path} filter={{ group_by: by, ...range }} permission="reports.export" />;
}
