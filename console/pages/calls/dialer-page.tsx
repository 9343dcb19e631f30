import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { agentGroupsQuery } from "../../api/agents.ts";
import { placeCall } from "../../api/calls.ts";
import { callQuery, callsQuery } from "../../api/call-records.ts";
import { useRefresh } from "../../api/live.ts";
import { queryClient } from "../../api/query-client.ts";
import { tenDigits } from "../../from-server.ts";
import { whyCallEnded } from "../../messages/call-reasons.ts";
import { ApiForm } from "../../ui/api-form.tsx";
import { buttonClass } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import type { FormField, FormValues } from "../../ui/form-fields.tsx";
import { Page } from "../../ui/page.tsx";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { usePhoneFormats } from "../../ui/phone-formats.ts";
import { SandboxNumbers } from "../../ui/sandbox-numbers.tsx";
import { isSandbox, SandboxNote } from "../../ui/sandbox-note.tsx";
import { CallActions } from "./call-actions.tsx";
import { CallLegs } from "./call-legs.tsx";
import { CallStatusBadge } from "./call-status.tsx";
import { call_events } from "./call-events.ts";
import { keepOwnPhone, ownPhone } from "./own-phone.ts";

const route = getRouteApi("/shell/calls/new");
const shell = getRouteApi("/shell");

/** Calls a customer: first the agent's phone rings, then the customer's. Shows the call while it lasts. */
export function DialerPage() {
  const { national } = usePhoneFormats();
  const { to, campaign_id } = route.useSearch();
  const navigate = route.useNavigate();
  const { user, account, drivers } = shell.useRouteContext().me;
  const { data: groups = [] } = useQuery({ ...agentGroupsQuery, enabled: useMay("agents.read") });
  const current = useNewestCall(campaign_id);
  const isCalling = current.isLoading || current.call?.ended_at === null;
  const sandbox = isSandbox(drivers.voice);
  const assigned =
    user.agent_numbers.length > 0
      ? "What is assigned to you is filled in."
      : `None is assigned to you yet: an administrator assigns extensions under Agents.${sandbox ? " The sandbox takes any two to six digits, such as 101." : ""}`;
  const place = async (json: FormValues, _: FormValues, key: string) => {
    const asked = json as Parameters<typeof placeCall>[0];
    const to_number = tenDigits(asked.to_number, account.country_code) ?? asked.to_number;
    const placed = await placeCall({ ...asked, to_number }, key);
    keepOwnPhone(user, asked.from_number);
    await queryClient.invalidateQueries({ queryKey: ["calls"] });
    await navigate({ search: { to: to_number, campaign_id: placed } });
  };
  return (
    <Page title="Dialer" text="Your phone rings first. The customer is called once you answer.">
      {sandbox && (
        <SandboxNote text="calls are simulated, and no phone rings. A customer hangs up after five seconds; one whose number ends in 777900 talks until you end the call." />
      )}
      <div className="grid grid-cols-1 items-start gap-6 lg:grid-cols-2">
        <Panel title="New call">
          {isCalling ? (
            <p className="text-muted">You can place the next call when this one has ended.</p>
          ) : (
            <>
              <ApiForm
                fields={fieldsOf(groups, national, assigned)}
                known={{ to_number: to ?? null, from_number: ownPhone(user) }}
                action="Call"
                save={place}
              />
              {sandbox && <SandboxNumbers of="calls" />}
            </>
          )}
        </Panel>
        {campaign_id === undefined ? (
          <Panel title="The call">
            <p className="text-muted">Enter a number and press Call.</p>
          </Panel>
        ) : (
          <LiveCall current={current} />
        )}
      </div>
    </Page>
  );
}

const fieldsOf = (
  groups: readonly { readonly id: number; readonly name: string }[],
  written: string,
  own: string,
): readonly FormField[] => [
  { name: "to_number", label: "Customer", kind: "text", note: written },
  {
    name: "from_number",
    label: "Your extension or phone number",
    kind: "text",
    note: own,
  },
  ...(groups.length === 0
    ? []
    : [
        {
          name: "agent_not_pick_group",
          label: "If you do not answer",
          kind: "choice",
          empty: "The call ends",
          options: groups.map(({ id, name }) => ({
            value: String(id),
            label: `An agent of ${name} is called`,
          })),
        } as const,
      ]),
  { name: "remark", label: "Note", kind: "text", empty: "" },
];

/** The newest attempt of a call that was placed here. */
function useNewestCall(campaign_id: number | undefined) {
  useRefresh(call_events, ["calls"]);
  const calls = useInfiniteQuery({
    ...callsQuery(campaign_id === undefined ? {} : { campaign_id }),
    enabled: campaign_id !== undefined,
  });
  const newest = campaign_id === undefined ? undefined : calls.data?.pages[0]?.data[0];
  const detail = useQuery({ ...callQuery(newest?.call_id ?? 0), enabled: newest !== undefined });
  return {
    call: detail.data,
    isLoading: calls.isLoading || detail.isLoading,
    error: calls.error ?? detail.error,
  };
}

function LiveCall({
  current: { call, error },
}: {
  readonly current: ReturnType<typeof useNewestCall>;
}) {
  return (
    <div className="flex min-w-0 flex-col gap-4">
      <div aria-live="polite">
        <Panel title="The call" actions={call && <CallStatusBadge status={call.status} />}>
          <FormError error={error} />
          {call?.ended_reason != null && <p>{whyCallEnded(call)?.text}</p>}
          {call?.remark && <p className="text-muted wrap-anywhere">Note: {call.remark}</p>}
          <div className="flex flex-wrap gap-2">
            {call && (
              <Link to="/calls/$id" params={{ id: call.call_id }} className={buttonClass()}>
                Details
              </Link>
            )}
            {call && <CallActions call={call} />}
          </div>
        </Panel>
      </div>
      {call && <CallLegs call={call} />}
    </div>
  );
}
