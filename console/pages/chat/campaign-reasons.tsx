import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { reasonsQuery, type CampaignDetail, type ReasonCount } from "../../api/chat.ts";
import { queryClient } from "../../api/query-client.ts";
import { recipient_reasons } from "../../messages/chat-reasons.ts";
import { reasonOf } from "../../messages/reason.ts";
import { useMay } from "../../shell/use-may.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { toasts } from "../../ui/toasts.tsx";
import { retryCampaign } from "./change-campaign.ts";

/** Why messages failed or were skipped, in plain words, with what can be done. */
export function CampaignReasons({ campaign }: { readonly campaign: CampaignDetail }) {
  const { id, counts } = campaign;
  const reasons = useQuery(reasonsQuery(id));
  const failed = counts.failed + counts.skipped;
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: ["chat-recipients", id] });
  }, [id, failed]);
  const all = reasons.data?.counts ?? [];
  return (
    <Panel title="Failed and skipped">
      <FormError error={reasons.error} />
      {failed === 0 && <p className="text-muted">Nothing failed.</p>}
      {reasons.data?.complete === false && (
        <p className="text-muted text-xs">Counted among the first thousand.</p>
      )}
      {all.length > 0 && (
        <ul className="divide-line -my-3 flex flex-col divide-y">
          {all.map((reason) => (
            <ReasonRow
              key={`${reason.state} ${reason.error}`}
              campaign={campaign}
              reason={reason}
            />
          ))}
        </ul>
      )}
    </Panel>
  );
}

function ReasonRow({
  campaign: { id, status },
  reason: { state, error, count },
}: {
  readonly campaign: CampaignDetail;
  readonly reason: ReasonCount;
}) {
  const words = reasonOf(recipient_reasons, error);
  const may = useMay("chat.campaigns.manage");
  const canRetry =
    may && error !== null && "retry" in words && words.retry && status !== "cancelled";
  return (
    <li className="flex flex-col gap-1 py-3">
      <div className="flex items-start justify-between gap-3">
        <Link
          to="/chat/campaigns/$id"
          params={{ id }}
          search={{ state, ...(error === null ? {} : { error }) }}
          hash="recipients"
          resetScroll={false}
          className="text-accent font-medium underline-offset-2 hover:underline"
        >
          {words.label}
        </Link>
        <span className="tabular-nums">{formatCount(count)}</span>
      </div>
      <p className="text-muted">
        {words.text} {words.advice}
      </p>
      {canRetry && (
        <div className="mt-1">
          <RetryButton id={id} error={error} count={count} />
        </div>
      )}
    </li>
  );
}

function RetryButton({
  id,
  error,
  count,
}: {
  readonly id: number;
  readonly error: string;
  readonly count: number;
}) {
  return (
    <ConfirmDialog
      title="Retry these messages?"
      text={`The messages to ${formatCount(count)} people are sent again. Each one that is delivered costs a credit.`}
      action="Retry"
      kind="primary"
      trigger={<Button>Retry</Button>}
      act={async () => {
        const retried = await retryCampaign(id, [error], crypto.randomUUID());
        toasts.add({ title: `${formatCount(retried)} messages are sent again` });
      }}
    />
  );
}
