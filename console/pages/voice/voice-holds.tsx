import type { ReactNode } from "react";
import type { VoiceCampaign } from "../../api/voice.ts";
import type { Reason } from "../../messages/reason.ts";
import { voice_holds, wait_reasons } from "../../messages/voice-reasons.ts";
import { Time } from "../../ui/time.tsx";

/** What keeps the campaign from calling now, and how it ends. */
export function VoiceHolds({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { holds, waiting_for, callable_from, status } = campaign;
  if (status !== "paused" && status !== "running" && status !== "scheduled") return null;
  if (holds.length === 0)
    return (
      waiting_for && (
        <Notice kind="Waiting" words={wait_reasons[waiting_for]}>
          {callable_from !== null && (
            <>
              Calls may be placed again <Time at={callable_from} />
            </>
          )}
        </Notice>
      )
    );
  return holds.map(({ reason, detail, set_at }) => (
    <Notice key={reason} kind="Paused" words={voice_holds[reason]}>
      Since <Time at={set_at} />
      {detail !== null && <>. {detail}</>}
    </Notice>
  ));
}

function Notice({
  kind,
  words: { label, text, advice },
  children,
}: {
  readonly kind: string;
  readonly words: Reason;
  readonly children: ReactNode;
}) {
  return (
    <section aria-label={`${kind}: ${label}`} className="bg-warning-soft rounded-xl p-4">
      <p className="text-warning font-medium">{label}</p>
      <p>
        {text} {advice}
      </p>
      {children && <p className="text-muted mt-1 text-xs">{children}</p>}
    </section>
  );
}
