import { Link } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import type { Answer } from "../../../api/answer.ts";
import { ApiProblem } from "../../../api/problem.ts";
import { Button } from "../../../ui/button.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { formatCount } from "../../../ui/numbers.ts";
import { Panel } from "../../../ui/panel.tsx";
import { ShowCurl } from "../../../ui/show-curl.tsx";
import { Time } from "../../../ui/time.tsx";
import { DryRunSamples } from "./dry-run-samples.tsx";
import type { Composer } from "./use-composer.ts";

export type Preview = Answer<"previewChatCampaign">;

const left_out = {
  invalid: "No valid phone number",
  duplicate: "More than once in the list",
  blacklisted: "Suppressed: they asked for no messages",
} as const;

/** What the campaign would do, and the button that does it. */
export function DryRun({
  composer,
  preview,
}: {
  readonly composer: Composer;
  readonly preview: Preview;
}) {
  const { template, send, reset } = composer;
  const { total_contacts, credits, starts_at, finishes_at, samples } = preview;
  const result = useRef<HTMLDivElement>(null);
  useEffect(() => result.current?.focus(), []);
  return (
    <div ref={result} tabIndex={-1} className="outline-none">
      <Panel title="Dry run">
        <dl className="grid gap-x-6 gap-y-3 sm:grid-cols-[auto_1fr]">
          <dt className="text-muted">Recipients</dt>
          <dd className="text-lg font-semibold tabular-nums">{formatCount(total_contacts)}</dd>
          <dt className="text-muted">Left out</dt>
          <dd>
            <LeftOut preview={preview} />
          </dd>
          <dt className="text-muted">Cost</dt>
          <dd>
            {formatCount(credits.needed)} of {formatCount(credits.available)} credits
            {!credits.sufficient && (
              <p className="text-danger">
                The credit does not suffice. Send to fewer people, or add credit.
              </p>
            )}
          </dd>
          <dt className="text-muted">Begins</dt>
          <dd>
            <Time at={starts_at} />
          </dd>
          <dt className="text-muted">Done by</dt>
          <dd>
            <Time at={finishes_at} />, if nothing holds it up
          </dd>
        </dl>
        {template && <DryRunSamples template={template} samples={samples} />}
        <SendError error={send.error} />
        <div className="flex flex-wrap gap-2">
          <Button
            kind="primary"
            busy={send.isPending || send.isSuccess}
            disabled={!credits.sufficient}
            onClick={() => send.mutate()}
          >
            Send to {formatCount(total_contacts)}
          </Button>
          <Button onClick={reset}>Change</Button>
        </div>
        <ShowCurl submit={() => send.mutateAsync()} />
      </Panel>
    </div>
  );
}

function LeftOut({ preview: { trimmed, trimmed_samples } }: { readonly preview: Preview }) {
  const reasons = (["invalid", "duplicate", "blacklisted"] as const).filter(
    (reason) => trimmed[reason] > 0,
  );
  if (reasons.length === 0) return "Nobody";
  return reasons.map((reason) => (
    <p key={reason}>
      {left_out[reason]}: {formatCount(trimmed[reason])}
      <span className="text-muted block text-xs wrap-anywhere">
        {trimmed_samples
          .filter((one) => one.reason === reason)
          .slice(0, 5)
          .map(({ phone_number }) => phone_number)
          .join(", ")}
      </span>
    </p>
  ));
}

/** A changed draft whose first sending was not answered may have been sent. */
function SendError({ error }: { readonly error: Error | null }) {
  const isReused = error instanceof ApiProblem && error.type.endsWith("idempotency-mismatch");
  if (!isReused) return <FormError error={error} />;
  return (
    <p role="alert" className="text-danger">
      An earlier version of this draft was already sent. Look at the{" "}
      <Link to="/chat/campaigns" className="underline">
        campaigns
      </Link>
      , then discard the draft to begin another one.
    </p>
  );
}
