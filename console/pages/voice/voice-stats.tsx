import type { VoiceCampaign } from "../../api/voice.ts";
import { formatCount, formatShare } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { ShareBars } from "../../ui/share-bars.tsx";
import { Stat } from "../../ui/stat.tsx";
import { percentDone } from "../campaigns/percent-done.ts";
import { useReachesAgent } from "./use-campaign-content.ts";

const seconds_of_minute = 60;

/** How far the campaign is, how many people answer, and what it costs. */
export function VoiceStats({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { total, pending, in_progress, answered, called, rejected, duplicates } = campaign;
  const { abandoned, live_answers, attempts, cost } = campaign;
  const reaches_agent = useReachesAgent(campaign);
  const percent = percentDone(total, pending);
  const left_out = rejected + duplicates;
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Stat
        label="Progress"
        hint={
          <>
            {formatCount(total - pending)} of {formatCount(total)}
            {left_out > 0 && `, ${formatCount(left_out)} left out`}
            {in_progress > 0 && `, ${formatCount(in_progress)} being called`}
          </>
        }
      >
        {percent}%
        <span className="mt-2 block">
          <ProgressBar label="Progress" percent={percent} />
        </span>
      </Stat>
      <Stat
        label="Answer rate"
        hint={`${formatCount(answered)} of ${formatCount(called)} people called; calls placed: ${formatCount(attempts)}`}
      >
        {formatShare(answered, called)}
      </Stat>
      {(reaches_agent || abandoned > 0) && (
        <Stat
          label="Abandoned"
          hint={`${formatCount(abandoned)} of ${formatCount(live_answers)} answered calls asked for an agent and got none`}
        >
          {formatShare(abandoned, live_answers)}
        </Stat>
      )}
      <Stat label="Credits used" hint={`${talkOf(campaign)} of talk`}>
        {formatCount(cost)}
      </Stat>
    </dl>
  );
}

function talkOf({ talk_seconds }: VoiceCampaign): string {
  const minutes = Math.round(talk_seconds / seconds_of_minute);
  if (talk_seconds < seconds_of_minute) return `${talk_seconds} s`;
  return `${formatCount(minutes)} ${minutes === 1 ? "minute" : "minutes"}`;
}

/** What became of the people who were called, and how many were not called. */
export function VoiceOutcome({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { called } = campaign;
  const rows = [
    { label: "Answered", count: campaign.answered, always: true },
    { label: "Machine", count: campaign.machine },
    { label: "Busy", count: campaign.busy },
    { label: "No answer", count: campaign.no_answer, always: true },
    { label: "Failed", count: campaign.failed, always: true },
  ];
  const not_called = [
    { label: "suppressed", count: campaign.suppressed },
    { label: "skipped", count: campaign.skipped },
    { label: "cancelled", count: campaign.cancelled },
  ].filter(({ count }) => count > 0);
  return (
    <Panel title="Outcome">
      <ShareBars
        whole={called}
        rows={rows.filter(({ count, always = false }) => always || count > 0)}
        of={`Of the ${formatCount(called)} ${called === 1 ? "person" : "people"} called.`}
      />
      {not_called.length > 0 && (
        <p className="text-muted">
          Not called:{" "}
          {not_called.map(({ label, count }) => `${formatCount(count)} ${label}`).join(", ")}.
        </p>
      )}
    </Panel>
  );
}
