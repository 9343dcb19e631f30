import { useMutation } from "@tanstack/react-query";
import type { CampaignDetail } from "../../api/chat.ts";
import { useMay } from "../../ui/permission.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCount, formatCountOf } from "../../ui/numbers.ts";
import { cancelCampaign, pauseCampaign, resumeCampaign } from "./change-campaign.ts";

const open_statuses: ReadonlySet<string> = new Set(["running", "scheduled", "paused"]);

/** Pause, resume and cancel, as far as they apply now. */
export function CampaignControls({ campaign }: { readonly campaign: CampaignDetail }) {
  const { id, status, holds, counts } = campaign;
  const may = useMay("chat.campaigns.manage");
  const change = useMutation({ mutationFn: (run: (id: number) => Promise<void>) => run(id) });
  if (!may || !open_statuses.has(status)) return null;
  const isPausedByHand = holds.some(
    ({ scope, reason }) => scope === "campaign" && reason === "manual",
  );
  const canResume = holds.some(({ reason }) => reason === "manual" || reason === "error_threshold");
  const unsent = formatCountOf(
    counts.queued + counts.deferred,
    "message will not be sent, and its credit is released.",
    "messages will not be sent, and their credit is released.",
  );
  const unknown =
    counts.unknown > 0
      ? ` ${formatCount(counts.unknown)} of unknown outcome may have arrived already.`
      : "";
  return (
    <div className="flex flex-col items-end gap-2">
      <div className="flex flex-wrap gap-2">
        {!isPausedByHand && (
          <Button busy={change.isPending} onClick={() => change.mutate(pauseCampaign)}>
            Pause
          </Button>
        )}
        {canResume && (
          <Button
            kind="primary"
            busy={change.isPending}
            onClick={() => change.mutate(resumeCampaign)}
          >
            Resume
          </Button>
        )}
        <ConfirmDialog
          title="Cancel this campaign?"
          text={`${unsent}${unknown} This cannot be undone.`}
          action="Cancel the campaign"
          trigger={<Button>Cancel</Button>}
          act={() => cancelCampaign(id)}
        />
      </div>
      <FormError error={change.error} />
    </div>
  );
}
