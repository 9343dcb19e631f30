import type { CampaignDetail } from "../../api/chat.ts";
import { formatCount, formatShare } from "../../ui/numbers.ts";
import { ProgressBar } from "../../ui/progress-bar.tsx";
import { Stat } from "../../ui/stat.tsx";
import { useTimeFormat } from "../../ui/time.tsx";
import { percentDone } from "../campaigns/percent-done.ts";
import { usePace } from "./use-pace.ts";

const units = [
  ["hour", 3_600],
  ["minute", 60],
] as const;

/** 5400 seconds as "2 hours"; rounded up, because it is an estimate of an end. */
function formatDuration(seconds: number): string {
  const [unit, length] = units.find(([, at_least]) => seconds >= at_least) ?? ["second", 1];
  const value = Math.max(1, Math.ceil(seconds / length));
  return new Intl.NumberFormat(undefined, { style: "unit", unit, unitDisplay: "long" }).format(
    value,
  );
}

/** How far the campaign is, how fast, and until when. */
export function CampaignStats({ campaign }: { readonly campaign: CampaignDetail }) {
  const { total_contacts, pending_count, trimmed, reply_count, credits, status } = campaign;
  const done = total_contacts - pending_count;
  const percent = percentDone(total_contacts, pending_count);
  const left_out = trimmed.invalid + trimmed.duplicate + trimmed.blacklisted;
  return (
    <dl className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      <Stat
        label="Progress"
        hint={
          <>
            {formatCount(done)} of {formatCount(total_contacts)}
            {left_out > 0 && `, ${formatCount(left_out)} left out`}
          </>
        }
      >
        {percent}%
        <span className="mt-2 block">
          <ProgressBar label="Progress" percent={percent} />
        </span>
      </Stat>
      {status === "running" ? (
        <Pace done={done} pending={pending_count} />
      ) : (
        <Rest campaign={campaign} />
      )}
      <Stat label="Replies">{formatCount(reply_count)}</Stat>
      <Stat label="Credits used" hint={`${formatCount(credits.refunded)} refunded`}>
        {formatCount(credits.captured - credits.refunded)}
      </Stat>
    </dl>
  );
}

function Pace({ done, pending }: { readonly done: number; readonly pending: number }) {
  const pace = usePace(done);
  const format = useTimeFormat({ dateStyle: "medium", timeStyle: "short" });
  if (pace === null)
    return (
      <Stat label="Pace" hint={`${formatCount(pending)} to go`}>
        <span className="text-muted text-base font-normal">Measuring…</span>
      </Stat>
    );
  const seconds = pending / pace;
  const end = format(new Date(Date.now() + seconds * 1_000).toISOString());
  return (
    <Stat label="Pace" hint={`Done in about ${formatDuration(seconds)}, at ${end}`}>
      {formatCount(Math.max(1, Math.round(pace)))}/s
    </Stat>
  );
}

function Rest({ campaign }: { readonly campaign: CampaignDetail }) {
  const { pending_count, failed_count, total_contacts } = campaign;
  if (pending_count > 0) return <Stat label="To go">{formatCount(pending_count)}</Stat>;
  return (
    <Stat
      label="Not delivered"
      hint={`${formatShare(failed_count, total_contacts)} of all ${formatCount(total_contacts)} recipients`}
    >
      {formatCount(failed_count)}
    </Stat>
  );
}
