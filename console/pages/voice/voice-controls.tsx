import { useMutation } from "@tanstack/react-query";
import type { VoiceCampaign } from "../../api/voice.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { FormError } from "../../ui/form-error.tsx";
import { formatCountOf } from "../../ui/numbers.ts";
import { useMay } from "../../ui/permission.ts";
import {
  cancelVoiceCampaign,
  pauseVoiceCampaign,
  resumeVoiceCampaign,
} from "./change-voice-campaign.ts";

const open_statuses: ReadonlySet<string> = new Set(["running", "scheduled", "paused"]);

/** Pause, resume and cancel, as far as they apply now. */
export function VoiceControls({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { campaign_id: id, status, holds, pending, in_progress } = campaign;
  const may = useMay("voice.campaigns.manage");
  const change = useMutation({ mutationFn: (run: (id: number) => Promise<void>) => run(id) });
  if (!may || !open_statuses.has(status)) return null;
  return (
    <div className="flex flex-col items-end gap-2">
      <div className="flex flex-wrap gap-2">
        {!holds.some(({ reason }) => reason === "manual") && (
          <Button busy={change.isPending} onClick={() => change.mutate(pauseVoiceCampaign)}>
            Pause
          </Button>
        )}
        {holds.length > 0 && (
          <Button
            kind="primary"
            busy={change.isPending}
            onClick={() => change.mutate(resumeVoiceCampaign)}
          >
            Resume
          </Button>
        )}
        <ConfirmDialog
          title="Cancel this campaign?"
          text={`${formatCountOf(pending - in_progress, "person", "people")} will not be called. Calls in progress continue. This cannot be undone.`}
          action="Cancel the campaign"
          trigger={<Button>Cancel</Button>}
          act={() => cancelVoiceCampaign(id)}
        />
      </div>
      <FormError error={change.error} />
    </div>
  );
}
