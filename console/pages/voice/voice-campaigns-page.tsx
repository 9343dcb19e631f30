import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { details_ms, useRefresh } from "../../api/live.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { voiceCampaignsQuery, type VoiceCampaign } from "../../api/voice.ts";
import { useVoiceProgress } from "../../api/voice-progress.ts";
import { buttonClass } from "../../ui/button.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount, formatShare } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { Time } from "../../ui/time.tsx";
import { ListProgress } from "../campaigns/list-progress.tsx";
import { VoiceStatusBadge } from "./voice-badges.tsx";
import { status_options, type_options } from "./voice-search.ts";

const route = getRouteApi("/shell/voice/campaigns");

const columns: readonly Column<VoiceCampaign>[] = [
  {
    header: "Name",
    cell: ({ campaign_id: id, name, call_type }) => (
      <>
        <Link
          to="/voice/campaigns/$id"
          params={{ id }}
          className="after:absolute after:inset-0 hover:underline"
        >
          {name}
        </Link>
        <span className="text-muted block text-xs font-normal">
          {type_options.find(({ value }) => value === call_type)?.label}
        </span>
      </>
    ),
  },
  { header: "State", cell: ({ status }) => <VoiceStatusBadge status={status} /> },
  {
    header: "Progress",
    wide: true,
    cell: ({ name, total, pending }) => (
      <ListProgress name={name} total={total} pending={pending} />
    ),
  },
  { header: "Answered", numeric: true, cell: ({ answered }) => formatCount(answered) },
  {
    header: "Answer rate",
    numeric: true,
    wide: true,
    cell: ({ answered, called }) => formatShare(answered, called),
  },
  { header: "Calls", numeric: true, wide: true, cell: ({ attempts }) => formatCount(attempts) },
  {
    header: "Starts",
    wide: true,
    cell: ({ scheduled_at, created_at }) => <Time at={scheduled_at ?? created_at} />,
  },
];

/** The account's voice campaigns, live. */
export function VoiceCampaignsPage() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const campaigns = useInfiniteQuery(voiceCampaignsQuery(filter));
  useVoiceProgress();
  useRefresh(["voice.campaign.progress"], ["voice-campaigns", "list"], {}, details_ms);
  const table = pagedRows(campaigns);
  const isFiltered = filter.status !== undefined || filter.type !== undefined;
  return (
    <Page title="Voice campaigns" actions={<NewCampaign />}>
      <div className="flex flex-wrap gap-2">
        <FilterSelect
          label="State"
          all="Any state"
          value={filter.status}
          options={status_options}
          onChange={(status) => void navigate({ search: { ...filter, status } })}
        />
        <FilterSelect
          label="Kind"
          all="Any kind"
          value={filter.type}
          options={type_options}
          onChange={(type) => void navigate({ search: { ...filter, type } })}
        />
      </div>
      <FormError error={campaigns.error} />
      {campaigns.isSuccess && table.rows.length === 0 ? (
        <NoCampaigns isFiltered={isFiltered} />
      ) : (
        <DataTable
          label="Voice campaigns"
          columns={columns}
          {...table}
          keyOf={({ campaign_id }) => campaign_id}
        />
      )}
    </Page>
  );
}

function NoCampaigns({ isFiltered }: { readonly isFiltered: boolean }) {
  return isFiltered ? (
    <EmptyState title="No campaign matches" text="Choose another state or kind." />
  ) : (
    <EmptyState
      title="No voice campaigns yet"
      text="A voice campaign calls many people with a recording, a script, a menu or an AI agent."
    >
      <NewCampaign />
    </EmptyState>
  );
}

function NewCampaign() {
  if (!useMay("voice.campaigns.create")) return null;
  return (
    <Link to="/voice/campaigns/new" className={buttonClass("primary")}>
      New voice campaign
    </Link>
  );
}
