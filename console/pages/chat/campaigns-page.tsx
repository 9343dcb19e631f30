import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { campaignsQuery, templatesQuery, type Campaign } from "../../api/chat.ts";
import { useCampaignProgress } from "../../api/chat-progress.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { useMay } from "../../ui/permission.ts";
import { buttonClass } from "../../ui/button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { Time } from "../../ui/time.tsx";
import { ListProgress } from "../campaigns/list-progress.tsx";
import { status_options } from "./campaigns-search.ts";
import { StatusBadge } from "./status-badge.tsx";

const route = getRouteApi("/shell/chat/campaigns");

const columns = (templates: ReadonlyMap<number, string>): readonly Column<Campaign>[] => [
  {
    header: "Name",
    cell: ({ id, name, template_id }) => (
      <>
        <Link
          to="/chat/campaigns/$id"
          params={{ id }}
          className="after:absolute after:inset-0 hover:underline"
        >
          {name}
        </Link>
        <span className="text-muted block text-xs font-normal">
          {template_id === null ? "Chat flow" : (templates.get(template_id) ?? "Template")}
        </span>
      </>
    ),
  },
  { header: "State", cell: ({ status }) => <StatusBadge status={status} /> },
  {
    header: "Progress",
    wide: true,
    cell: ({ name, total_contacts, pending_count }) => (
      <ListProgress name={name} total={total_contacts} pending={pending_count} />
    ),
  },
  { header: "Sent", numeric: true, cell: ({ sent_count }) => formatCount(sent_count) },
  {
    header: "Delivered",
    numeric: true,
    wide: true,
    cell: ({ delivered_count }) => formatCount(delivered_count),
  },
  {
    header: "Failed",
    numeric: true,
    wide: true,
    cell: ({ failed_count }) => formatCount(failed_count),
  },
  {
    header: "Starts",
    wide: true,
    cell: ({ scheduled_at, created_at }) => <Time at={scheduled_at ?? created_at} />,
  },
];

export function CampaignsPage() {
  const { status } = route.useSearch();
  const navigate = route.useNavigate();
  const campaigns = useInfiniteQuery(campaignsQuery(status));
  const { data: templates = [] } = useQuery(templatesQuery);
  useCampaignProgress();
  const table = pagedRows(campaigns);
  return (
    <Page title="Chat campaigns" actions={<NewCampaign />}>
      <div className="flex flex-wrap gap-2">
        <FilterSelect
          label="State"
          all="Any state"
          value={status}
          options={status_options}
          onChange={(changed) => void navigate({ search: { status: changed } })}
        />
      </div>
      <FormError error={campaigns.error} />
      {campaigns.isSuccess && table.rows.length === 0 ? (
        <NoCampaigns filtered={status !== undefined} />
      ) : (
        <DataTable
          label="Chat campaigns"
          columns={columns(new Map(templates.map(({ id, name }) => [id, name])))}
          {...table}
          keyOf={({ id }) => id}
        />
      )}
    </Page>
  );
}

function NoCampaigns({ filtered }: { readonly filtered: boolean }) {
  return filtered ? (
    <EmptyState title="No campaign is in this state" text="Choose another state." />
  ) : (
    <EmptyState
      title="No campaigns yet"
      text="A campaign sends one message to many people. They appear here as soon as one is created."
    >
      <NewCampaign />
    </EmptyState>
  );
}

function NewCampaign() {
  if (!useMay("chat.campaigns.create")) return null;
  return (
    <Link to="/chat/campaigns/new" className={buttonClass("primary")}>
      New campaign
    </Link>
  );
}
