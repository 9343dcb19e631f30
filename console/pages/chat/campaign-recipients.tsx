import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { recipientsQuery, type CampaignDetail, type Recipient } from "../../api/chat.ts";
import { useRefresh } from "../../api/live.ts";
import { pagedRows } from "../../api/paged-rows.ts";
import { recipient_reasons } from "../../messages/chat-reasons.ts";
import { reasonOf } from "../../messages/reason.ts";
import { useMay } from "../../ui/permission.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { ContactName } from "../../ui/contact-name.tsx";
import { DataTable, type Column } from "../../ui/data-table.tsx";
import { EmptyState } from "../../ui/empty-state.tsx";
import { ExportLink } from "../../ui/export-link.tsx";
import { FilterSelect } from "../../ui/filter-select.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Time } from "../../ui/time.tsx";
import { toasts } from "../../ui/toasts.tsx";
import { state_options } from "./campaigns-search.ts";
import { resendRecipient, suppressPhone } from "./change-campaign.ts";
import { StateBadge } from "./status-badge.tsx";

const route = getRouteApi("/shell/chat/campaigns/$id");

const reason_options = Object.entries(recipient_reasons).map(([value, { label }]) => ({
  value,
  label,
}));

/** Reasons that say that the number is suppressed. */
const suppressing_reasons = new Set<string | null>(["suppressed", "opted_out"]);

/** The people of the campaign, by state and reason; the filters are in the address. */
export function CampaignRecipients({ campaign }: { readonly campaign: CampaignDetail }) {
  const { id, name } = campaign;
  const { state, error } = route.useSearch();
  const navigate = route.useNavigate();
  const recipients = useInfiniteQuery(recipientsQuery(id, { state, error }));
  useRefresh(["chat.campaign.progress"], ["chat-recipients", id], { campaign_id: id });
  const columns = useColumns(id, name);
  const table = pagedRows(recipients);
  const change = (search: { state?: typeof state; error?: string }) =>
    void navigate({ search: { state, error, ...search }, resetScroll: false });
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
            value={state}
            options={state_options}
            onChange={(value) => change({ state: value })}
          />
          <FilterSelect
            label="Reason"
            all="Any reason"
            value={error}
            options={reason_options}
            onChange={(value) => change({ error: value })}
          />
          <ExportLink
            path={`/api/v1/chat/campaigns/${id}/recipients/export`}
            filter={{ state, error }}
            permission="chat.export"
          />
        </div>
      </div>
      <FormError error={recipients.error} />
      {recipients.isSuccess && table.rows.length === 0 ? (
        <EmptyState
          title="No recipient matches these filters"
          text="Choose another state or reason."
        />
      ) : (
        <DataTable
          label="Recipients"
          columns={columns}
          {...table}
          keyOf={({ id: recipientId }) => recipientId}
        />
      )}
    </section>
  );
}

function PersonLink({ phone }: { readonly phone: string }) {
  return (
    <Link to="/people/$phone" params={{ phone }} className="tabular-nums hover:underline">
      {phone}
    </Link>
  );
}

function useColumns(campaignId: number, campaignName: string): readonly Column<Recipient>[] {
  const [suppressed, setSuppressed] = useState<ReadonlySet<number>>(new Set());
  return useMemo(
    () => [
      {
        header: "Number",
        cell: ({ phone_number, bsuid, contact_name }) => (
          <>
            {phone_number === null ? (bsuid ?? "–") : <PersonLink phone={`+${phone_number}`} />}
            <ContactName name={contact_name} />
          </>
        ),
      },
      {
        header: "State",
        cell: ({ state, error }) => (
          <>
            <StateBadge state={state} />
            {error !== null && (
              <span className="text-muted mt-0.5 block text-xs md:hidden">
                {reasonOf(recipient_reasons, error).label}
              </span>
            )}
          </>
        ),
      },
      {
        header: "Reason",
        wide: true,
        cell: ({ error }) => (error === null ? "–" : reasonOf(recipient_reasons, error).label),
      },
      { header: "Last change", wide: true, cell: (recipient) => <LastChange {...recipient} /> },
      {
        header: "Action",
        cell: (recipient) => (
          <RecipientActions
            campaignId={campaignId}
            campaignName={campaignName}
            recipient={recipient}
            isSuppressed={suppressed.has(recipient.id) || suppressing_reasons.has(recipient.error)}
            onSuppress={() => setSuppressed((old) => new Set(old).add(recipient.id))}
          />
        ),
      },
    ],
    [campaignId, campaignName, suppressed],
  );
}

function LastChange(recipient: Recipient) {
  const { read_at, delivered_at, sent_at, accepted_at, dispatched_at, ended_at } = recipient;
  const at = ended_at ?? read_at ?? delivered_at ?? sent_at ?? accepted_at ?? dispatched_at;
  return at === null ? "–" : <Time at={at} />;
}

function RecipientActions({
  campaignId,
  campaignName,
  recipient: { id, phone_number, state },
  isSuppressed,
  onSuppress,
}: {
  readonly campaignId: number;
  readonly campaignName: string;
  readonly recipient: Recipient;
  readonly isSuppressed: boolean;
  readonly onSuppress: () => void;
}) {
  const maySuppress = useMay("suppressions.manage");
  const mayManage = useMay("chat.campaigns.manage");
  return (
    <div className="-my-1 flex flex-wrap gap-2">
      {state === "unknown" && mayManage && (
        <ConfirmDialog
          title="Send this message again?"
          text="The person may have it already, and would then get it twice."
          action="Send again"
          trigger={<Button>Send again</Button>}
          act={() => resendRecipient(campaignId, id)}
        />
      )}
      {isSuppressed && <span className="text-muted">Suppressed</span>}
      {!isSuppressed && phone_number !== null && maySuppress && (
        <ConfirmDialog
          title={`Suppress +${phone_number}?`}
          text="No campaign sends messages to this number until someone ends the suppression."
          action="Suppress"
          trigger={
            <Button kind="quiet" className="-ml-3.5" aria-label={`Suppress +${phone_number}`}>
              Suppress
            </Button>
          }
          act={async () => {
            await suppressPhone(phone_number, `From the campaign ${campaignName}`.slice(0, 255));
            onSuppress();
            toasts.add({ title: `+${phone_number} is suppressed` });
          }}
        />
      )}
    </div>
  );
}
