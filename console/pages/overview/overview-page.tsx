import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { overviewQuery, useOverviewRefresh } from "../../api/overview.ts";
import { buttonClass } from "../../ui/button.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { Page } from "../../ui/page.tsx";
import { useMay } from "../../ui/permission.ts";
import { AccountSandboxNote } from "../../ui/sandbox-note.tsx";
import { DialerLink } from "../calls/dialer-link.tsx";
import { Attention } from "./attention.tsx";
import { RunningCampaigns, RunningVoiceCampaigns } from "./running-campaigns.tsx";
import { Today } from "./today.tsx";

const shell = getRouteApi("/shell");

export function OverviewPage() {
  const { data: overview, error } = useQuery(overviewQuery);
  useOverviewRefresh();
  const may_send = useMay("chat.campaigns.create");
  const may_read_voice = useMay("voice.campaigns.read");
  const may_see_voice = useMay("voice.campaigns.manage") || may_read_voice;
  const { features } = shell.useRouteContext().me.account;
  // Without these, credit is of no use and nothing is simulated.
  const sends = ["bulk_chat", "calls", "voice"].some((one) => features.includes(one));
  return (
    <Page
      title="Overview"
      text="Today, and what waits for you."
      actions={
        <>
          {overview?.calls && <DialerLink kind="plain" />}
          {may_send && (
            <Link to="/chat/campaigns/new" className={buttonClass("primary")}>
              New campaign
            </Link>
          )}
        </>
      }
    >
      <FormError error={error} />
      {sends && <AccountSandboxNote />}
      {overview && (
        <>
          <Today overview={sends ? overview : { ...overview, credits: null }} />
          <Attention overview={overview} />
          {overview.chat && <RunningCampaigns />}
          {may_see_voice && <RunningVoiceCampaigns />}
        </>
      )}
    </Page>
  );
}
