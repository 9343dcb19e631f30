import type { CampaignDetail } from "../../api/chat.ts";
import { Time } from "../../ui/time.tsx";
import { LiftHold } from "./lift-hold.tsx";
import { useHoldWords } from "./use-hold-words.ts";

type Hold = CampaignDetail["holds"][number];

/** Why messages are kept back, since when, and what helps. */
export function HoldNotice({
  reason,
  hold,
}: {
  readonly reason: Hold["reason"];
  readonly hold?: Hold | undefined;
}) {
  const { label, text, advice } = useHoldWords({ ...hold, reason });
  return (
    <section
      aria-label={`Paused: ${label}`}
      className="bg-warning-soft flex flex-wrap items-center justify-between gap-3 rounded-xl p-4"
    >
      <div className="min-w-0">
        <p className="text-warning font-medium">{label}</p>
        <p>
          {text} {advice}
        </p>
        {hold && (
          <p className="text-muted mt-1 text-xs">
            Since <Time at={hold.set_at} />
            {hold.ends_at !== null && (
              <>
                , until <Time at={hold.ends_at} />
              </>
            )}
            {hold.detail !== null && <>. {hold.detail}</>}
          </p>
        )}
      </div>
      {hold && <LiftHold {...hold} />}
    </section>
  );
}
