import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useRefresh } from "../../api/live.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import {
  voiceRecipientsQuery,
  type VoiceCampaign,
  type VoiceRecipient,
  type VoiceRecipientFilter,
} from "../../api/voice.ts";
import { reasonOf } from "../../messages/reason.ts";
import { voice_failures, whyNotReached } from "../../messages/voice-reasons.ts";
import { buttonClass } from "../../ui/button.tsx";
import { ContactName } from "../../ui/contact-name.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ExportLink } from "../../ui/export-link.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { PageLink } from "../../ui/page-link.tsx";
import { SearchField } from "../../ui/search-field.tsx";
import { Time } from "../../ui/time.tsx";
import { VoiceStateBadge } from "./voice-badges.tsx";
import { reason_options, state_options } from "./voice-search.ts";

const route = getRouteApi("/shell/voice/campaigns/$id");

const columns: readonly Column<VoiceRecipient>[] = [
  {
    header: "Number",
    cell: ({ phone, contact_name }) => (
      <>
        <Link to="/people/$phone" params={{ phone: `+${phone}` }} className="hover:underline">
          +{phone}
        </Link>
        <ContactName name={contact_name} />
      </>
    ),
  },
  {
    header: "State",
    cell: (recipient) => (
      <>
        <VoiceStateBadge state={recipient.state} />
        <Why recipient={recipient} />
        {recipient.dtmf !== "" && (
          <span className="text-muted mt-0.5 block text-xs md:hidden">
            Pressed {recipient.dtmf}
          </span>
        )}
      </>
    ),
  },
  { header: "Calls", numeric: true, wide: true, cell: ({ attempts }) => formatCount(attempts) },
  { header: "Keys", wide: true, cell: ({ dtmf }) => (dtmf === "" ? "–" : dtmf) },
  {
    header: "Talk",
    numeric: true,
    wide: true,
    cell: ({ talk_seconds }) => (talk_seconds === null ? "–" : `${formatCount(talk_seconds)} s`),
  },
  {
    header: "Next or last call",
    wide: true,
    cell: (recipient) =>
      recipient.call_id === null ? (
        <When recipient={recipient} />
      ) : (
        <PageLink
          to="/calls/$id"
          params={{ id: recipient.call_id }}
          className="text-accent underline-offset-2 hover:underline"
        >
          <When recipient={recipient} />
        </PageLink>
      ),
  },
];

/** The people of the campaign, by state and number; the filters are in the address. */
export function VoiceRecipients({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { campaign_id: id, total, rejected, duplicates } = campaign;
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const recipients = useInfiniteQuery(voiceRecipientsQuery(id, filter));
  useRefresh(["voice.campaign.progress"], ["voice-recipients", id], { campaign_id: id });
  const table = pagedRows(recipients);
  const change = (changed: VoiceRecipientFilter) =>
    void navigate({ search: { ...filter, ...changed }, resetScroll: false });
  return (
    <section id="recipients" aria-labelledby="recipients-heading" className="flex flex-col gap-3">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <h2 id="recipients-heading" className="font-semibold">
          Recipients
        </h2>
        <div className="flex min-w-0 flex-wrap gap-2">
          <FilterSelect
            label="State"
            all="Any state"
            value={filter.state}
            options={state_options}
            onChange={(state) => change({ state })}
          />
          <FilterSelect
            label="Reason"
            all="Any reason"
            value={filter.reason}
            options={reason_options}
            onChange={(reason) => change({ reason })}
          />
          <SearchField
            label="Number"
            placeholder="Number"
            value={filter.number}
            onSearch={(number) => change({ number })}
          />
          {total > 0 && (
            <ExportLink
              path={`/api/v1/voice/campaigns/${id}/recipients/export`}
              filter={filter}
              permission="voice.campaigns.export"
            />
          )}
          {rejected + duplicates > 0 && (
            <a
              href={`/api/v1/voice/campaigns/${id}/rejects?format=csv`}
              download
              className={buttonClass()}
            >
              Left out ({formatCount(rejected + duplicates)})
            </a>
          )}
        </div>
      </div>
      <FormError error={recipients.error} />
      {recipients.isSuccess && table.rows.length === 0 ? (
        <EmptyState
          title="No recipient matches these filters"
          text="Choose another state, reason or number."
        />
      ) : (
        <DataTable label="Recipients" columns={columns} {...table} keyOf={({ id: key }) => key} />
      )}
    </section>
  );
}

/** Why a person was not reached, if the state does not say it. */
function Why({ recipient }: { readonly recipient: VoiceRecipient }) {
  const reason = whyNotReached(recipient);
  if (reason === null) return null;
  const { label } = reasonOf(voice_failures, reason);
  return <span className="text-muted mt-0.5 block text-xs">{label}</span>;
}

function When({
  recipient: { state, finished_at, callable_from, due_at },
}: {
  readonly recipient: VoiceRecipient;
}) {
  if (finished_at !== null) return <Time at={finished_at} />;
  const next = callable_from ?? due_at;
  if (next === null) return state === "calling" ? "Now" : "–";
  return (
    <>
      From <Time at={next} />
    </>
  );
}
