import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { callQuery, type CallDetail } from "../../api/call-records.ts";
import { useRefresh } from "../../api/live.ts";
import { whyCallEnded } from "../../messages/call-reasons.ts";
import { Missing } from "../../ui/missing.tsx";
import { formatCount, formatDuration } from "../../ui/numbers.ts";
import { Page } from "../../ui/page.tsx";
import { PageLink } from "../../ui/page-link.tsx";
import { Panel } from "../../ui/panel.tsx";
import { Stat } from "../../ui/stat.tsx";
import { Time } from "../../ui/time.tsx";
import { CallActions, phoneOfCall } from "./call-actions.tsx";
import { call_events } from "./call-events.ts";
import { CallConversation } from "./call-conversation.tsx";
import { CallLegs } from "./call-legs.tsx";
import { CallStatusBadge } from "./call-status.tsx";

const route = getRouteApi("/shell/calls/$id");
const shell = getRouteApi("/shell");

/** One call: what happened, who was connected, what was said. Live while it lasts. */
export function CallPage() {
  const { id } = route.useParams();
  const { data: call, error } = useQuery(callQuery(id));
  useRefresh(call_events, ["calls", id], { call_id: id });
  return (
    <Page
      title={
        call ? (
          <span className="flex flex-wrap items-center gap-3">
            {titleOf(call)} <CallStatusBadge status={call.status} />
          </span>
        ) : (
          "Call"
        )
      }
      text={
        call && (
          <>
            <Time at={call.queued_at} />
            {call.from_number !== "" && `, from ${call.from_number}`}
          </>
        )
      }
      actions={call && <CallActions call={call} />}
    >
      {call ? (
        <Content call={call} />
      ) : (
        <Missing error={error} what="call">
          <Link to="/calls" className="text-accent underline">
            All calls
          </Link>
        </Missing>
      )}
    </Page>
  );
}

function titleOf({ to_number, contact_name, direction }: CallDetail): string {
  if (to_number === "") return "Withheld number";
  const who = contact_name === null ? to_number : `${contact_name} ${to_number}`;
  return direction === "inbound" ? `Call of ${who}` : `Call to ${who}`;
}

function Content({ call }: { readonly call: CallDetail }) {
  const { ended_at, ring_seconds, talk_seconds, cost, attempt, remark } = call;
  const words = whyCallEnded(call);
  return (
    <>
      {words && (
        <p className="border-line bg-panel rounded-xl border p-4">
          <span className="block font-medium">{words.label}</span>
          {words.text} {words.advice}
        </p>
      )}
      {remark && (
        <Panel title="Note">
          <p className="wrap-anywhere whitespace-pre-wrap">{remark}</p>
        </Panel>
      )}
      <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
        <Stat label="Rang">{seconds(ring_seconds)}</Stat>
        <Stat label="Talked">{seconds(talk_seconds)}</Stat>
        <Stat label="Credits">{ended_at === null ? "–" : formatCount(cost)}</Stat>
        <Stat label="Attempt">{formatCount(attempt)}</Stat>
      </dl>
      <div className="grid items-start gap-6 lg:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-6">
          <CallLegs call={call} />
          <Links call={call} />
        </div>
        <div className="flex min-w-0 flex-col gap-6">
          <CallConversation call={call} />
        </div>
      </div>
    </>
  );
}

const seconds = (count: number | null) => (count === null ? "–" : formatDuration(count * 1_000));

/** The person, the campaign and the callback that the call belongs to. */
function Links({ call }: { readonly call: CallDetail }) {
  const { type, campaign_id, campaign_name, callback_at, retry_at, opted_out } = call;
  const { country_code } = shell.useRouteContext().me.account;
  const phone = phoneOfCall(call, country_code);
  return (
    <ul className="flex flex-col gap-1">
      {phone !== "" && (
        <li>
          <Link to="/people/$phone" params={{ phone }} className="text-accent underline">
            Everything about {call.contact_name ?? phone}
          </Link>
        </li>
      )}
      {type === "voice_campaign" && (
        <li>
          <PageLink
            to="/voice/campaigns/$id"
            params={{ id: campaign_id }}
            className="text-accent underline"
          >
            The campaign {campaign_name}
          </PageLink>
        </li>
      )}
      {callback_at !== null && (
        <li>
          Asked to be called back <Time at={callback_at} />
        </li>
      )}
      {retry_at !== null && (
        <li>
          Called again <Time at={retry_at} />
        </li>
      )}
      {opted_out && <li>Opted out of further calls</li>}
    </ul>
  );
}
