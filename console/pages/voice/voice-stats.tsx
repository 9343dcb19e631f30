import type { VoiceCampaign } from "../../api/voice.ts";
import { formatCount, formatShare } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { ShareBars } from "../../ui/share-bars.tsx";
import { Stat } from "../../ui/stat.tsx";
import { percentDone } from "../campaigns/percent-done.ts";

const seconds_of_minute = 60;

/** How far the campaign is, how many people answer, and what it costs. */
export function VoiceStats({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { total, pending, in_progress, answered, rejected, duplicates } = campaign;
  const { abandoned, live_answers, attempts, cost, talk_seconds } = campaign;
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
        hint={`${formatCount(answered)} answered; calls placed: ${formatCount(attempts)}`}
      >
        {formatShare(answered, total - pending)}
      </Stat>
      <Stat
        label="Abandoned"
        hint={`${formatCount(abandoned)} of ${formatCount(live_answers)} asked for an agent and got none`}
      >
        {formatShare(abandoned, live_answers)}
      </Stat>
      <Stat
        label="Credits used"
        hint={`${formatCount(Math.round(talk_seconds / seconds_of_minute))} minutes of talk`}
      >
        {formatCount(cost)}
      </Stat>
    </dl>
  );
}

/** What became of the recipients. */
export function VoiceOutcome({ campaign }: { readonly campaign: VoiceCampaign }) {
  const rows = [
    { label: "Answered", count: campaign.answered, always: true },
    { label: "Machine", count: campaign.machine },
    { label: "Busy", count: campaign.busy },
    { label: "No answer", count: campaign.no_answer, always: true },
    { label: "Failed", count: campaign.failed, always: true },
    { label: "Suppressed", count: campaign.suppressed },
    { label: "Skipped", count: campaign.skipped },
    { label: "Cancelled", count: campaign.cancelled },
  ];
  return (
    <Panel title="Outcome">
      <ShareBars
        whole={campaign.total - campaign.pending}
        rows={rows.filter(({ count, always = false }) => always || count > 0)}
      />
    </Panel>
  );
}
