import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import {
  failuresQuery,
  type CampaignDetail,
  type Failure,
  type RecipientState,
} from "../../api/chat.ts";
import { queryClient } from "../../api/query-client.ts";
import { recipient_reasons } from "../../messages/chat-reasons.ts";
import { reasonOf } from "../../messages/reason.ts";
import { useMay } from "../../ui/permission.ts";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount, formatCountOf } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { toasts } from "../../ui/toasts.tsx";
import { failure_link_class, FailureItem, RetryButton } from "../campaigns/failure-item.tsx";
import { retryCampaign } from "./change-campaign.ts";

/** Why messages failed or were skipped, in plain words, with what can be done. */
export function CampaignReasons({ campaign }: { readonly campaign: CampaignDetail }) {
  const { id, counts, trimmed } = campaign;
  const failures = useQuery(failuresQuery(id));
  const failed = counts.failed + counts.skipped;
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: ["chat-recipients", id] });
  }, [id, failed]);
  return (
    <Panel title="Failed and skipped">
      <FormError error={failures.error} />
      {failures.data?.length === 0 && <p className="text-muted">Nothing has failed so far.</p>}
      {failures.data && failures.data.length > 0 && (
        <ul className="divide-line -my-3 flex flex-col divide-y">
          {failures.data.map((failure) => (
            <FailureRow key={failure.reason} campaign={campaign} failure={failure} />
          ))}
        </ul>
      )}
      <LeftOut trimmed={trimmed} />
    </Panel>
  );
}

/** Those who are no recipients, because the campaign was created without them. */
function LeftOut({ trimmed }: Pick<CampaignDetail, "trimmed">) {
  const { invalid, duplicate, blacklisted } = trimmed;
  const causes = [
    [invalid, "not a phone number"],
    [duplicate, "more than once in the list"],
    [blacklisted, "suppressed"],
  ] as const;
  const words = causes.flatMap(([count, cause]) =>
    count > 0 ? [`${cause} (${formatCount(count)})`] : [],
  );
  if (words.length === 0) return null;
  return <p className="text-muted">Left out before the start: {words.join(", ")}.</p>;
}

function FailureRow({
  campaign: { id, status },
  failure: { state, reason, count, is_more },
}: {
  readonly campaign: CampaignDetail;
  readonly failure: Failure;
}) {
  const words = reasonOf(recipient_reasons, reason);
  const shown = `${formatCount(count)}${is_more ? "+" : ""}`;
  const whose = count === 1 ? "The message to 1 person is" : `The messages to ${shown} people are`;
  const may = useMay("chat.campaigns.manage");
  const canRetry = may && "retry" in words && words.retry && status !== "cancelled";
  return (
    <FailureItem
      link={
        <Link
          to="/chat/campaigns/$id"
          params={{ id }}
          search={{ state: state as RecipientState, error: reason }}
          hash="recipients"
          resetScroll={false}
          className={failure_link_class}
        >
          {words.label}
        </Link>
      }
      count={shown}
      words={words}
    >
      {canRetry && (
        <RetryButton
          title="Retry these messages?"
          text={`${whose} sent again. Each one that is delivered costs a credit.`}
          retry={async (key) => {
            const retried = await retryCampaign(id, [reason], key);
            toasts.add({
              title: formatCountOf(retried, "message is sent again", "messages are sent again"),
            });
          }}
        />
      )}
    </FailureItem>
  );
}
