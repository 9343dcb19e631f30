import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { creditsQuery, ledgerQuery, type LedgerFilter, type Transfer } from "../../api/account.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { DayFilter } from "../../ui/day-filter.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ExportLink } from "../../ui/export-link.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { PageLink } from "../../ui/page-link.tsx";
import { Stat } from "../../ui/stat.tsx";
import { Time } from "../../ui/time.tsx";
import { kind_options, transfer_options } from "./settings-search.ts";

const route = getRouteApi("/shell/settings/credits");

const columns: readonly Column<Transfer>[] = [
  { header: "Time", cell: ({ at }) => <Time at={at} /> },
  {
    header: "What",
    cell: ({ type, kind }) => (
      <>
        {transfer_options.find(({ value }) => value === type)?.label}
        <span className="text-muted block text-xs md:hidden">{kindOf(kind)}</span>
      </>
    ),
  },
  {
    header: "Of",
    wide: true,
    cell: ({ kind }) => kindOf(kind),
  },
  { header: "Credits", numeric: true, cell: signed },
  {
    header: "For",
    wide: true,
    cell: ({ subject, note }) => (
      <span className="wrap-anywhere">
        {note ?? (subject === null ? "–" : <Subject subject={subject} />)}
      </span>
    ),
  },
];

function kindOf(kind: Transfer["kind"]): string | undefined {
  return kind_options.find(({ value }) => value === kind)?.label;
}

/** What a movement adds to the credit that can be used; what is spent was set aside before. */
function signed({ type, amount }: Transfer): string {
  if (type === "capture") return `${formatCount(amount)} of those set aside`;
  return `${type === "reserve" ? "−" : "+"}${formatCount(amount)}`;
}

/** What credit was used for, with a link to it: `chat_campaign:1` as "Chat campaign 1". */
function Subject({ subject }: { readonly subject: string }) {
  const [kind = "", name = ""] = subject.split(":");
  const words = kind.replaceAll("_", " ");
  const label = words.charAt(0).toUpperCase() + words.slice(1);
  const id = Number(name);
  const className = "text-accent hover:underline";
  if (kind === "chat_answer")
    return (
      <PageLink to="/chat/replies" className={className}>
        Answer to a reply
      </PageLink>
    );
  // The name of a single message is no number.
  if (!Number.isSafeInteger(id)) return label;
  const text = `${label} ${name}`;
  const link = { params: { id }, className, children: text };
  if (kind === "call") return <PageLink to="/calls/$id" {...link} />;
  if (kind === "chat_campaign") return <PageLink to="/chat/campaigns/$id" {...link} />;
  return text;
}

/** The account's credit, and every movement of it. */
export function CreditsPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const { data: credits, error } = useQuery(creditsQuery);
  const ledger = useInfiniteQuery(ledgerQuery(filter));
  const table = pagedRows(ledger);
  const change = (changed: LedgerFilter) => void navigate({ search: { ...filter, ...changed } });
  return (
    <Page
      title="Credits"
      text="Credit is set aside when a campaign begins, and returned for what was not sent."
      actions={
        <ExportLink
          path="/api/v1/credits/ledger/export"
          filter={filter}
          permission="credits.read"
        />
      }
    >
      <FormError error={error ?? ledger.error} />
      {credits && (
        <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
          <Stat label="Messages" hint={`${formatCount(credits.chat.reserved)} set aside`}>
            {formatCount(credits.chat.available)}
          </Stat>
          <Stat label="Calls" hint={`${formatCount(credits.call.reserved)} set aside`}>
            {formatCount(credits.call.available)}
          </Stat>
        </dl>
      )}
      <div className="flex flex-wrap items-center gap-2">
        <FilterSelect
          label="Of"
          all="Messages and calls"
          value={filter.kind}
          options={kind_options}
          onChange={(kind) => change({ kind })}
        />
        <FilterSelect
          label="What"
          all="Every movement"
          value={filter.type}
          options={transfer_options}
          onChange={(type) => change({ type })}
        />
        <DayFilter from={filter.from} to={filter.to} onChange={change} />
      </div>
      {ledger.isSuccess && table.rows.length === 0 ? (
        <EmptyState title="No movements" text="Choose other filters, or send something." />
      ) : (
        <DataTable
          label="Movements of credit"
          columns={columns}
          {...table}
          keyOf={({ id }) => id}
        />
      )}
    </Page>
  );
}
