import type { CampaignDetail } from "../../api/chat.ts";
import { hold_words } from "../../messages/hold-reasons.ts";
import { Time } from "../../ui/time.tsx";
import { LiftHold } from "./lift-hold.tsx";

type Hold = CampaignDetail["holds"][number];

/** What keeps the campaign back, and how it ends. */
export function CampaignHolds({ campaign }: { readonly campaign: CampaignDetail }) {
  const { holds, paused_reason, status } = campaign;
  if (status !== "paused" && status !== "running") return null;
  if (holds.length === 0)
    // The quiet time is not stored as a hold.
    return status === "paused" && paused_reason ? <Notice reason={paused_reason} /> : null;
  return holds.map((hold) => <Notice key={`${hold.scope} ${hold.reason}`} {...hold} hold={hold} />);
}

function Notice({
  reason,
  hold,
}: {
  readonly reason: Hold["reason"];
  readonly hold?: Hold | undefined;
}) {
  const { label, text, advice } = hold_words[reason];
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
