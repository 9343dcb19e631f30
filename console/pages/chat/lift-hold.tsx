import { api } from "../../api/client.ts";
import { queryClient } from "../../api/query-client.ts";
import { hold_words } from "../../messages/hold-reasons.ts";
import type { CampaignDetail } from "../../api/chat.ts";
import { Button } from "../../ui/button.tsx";
import { ConfirmDialog } from "../../ui/confirm-dialog.tsx";
import { useMay } from "../../ui/permission.ts";

type Hold = Pick<CampaignDetail["holds"][number], "scope" | "subject_id" | "reason">;
type LiftableReason = "sender_restricted" | "auth" | "template_paused";

/** The button that ends a hold whose cause a person has resolved; nothing for other holds or without permission. */
export function LiftHold({ scope, subject_id, reason }: Hold) {
  const may = useMay("chat.manage");
  if (!may || hold_words[reason].ends !== "lift") return null;
  const lift = async () => {
    await api.POST("/api/v1/chat/holds/lift", {
      body: { scope, subject_id, reason: reason as LiftableReason },
    });
    await Promise.all(
      ["chat-campaigns", "chat-numbers", "overview"].map((key) =>
        queryClient.invalidateQueries({ queryKey: [key] }),
      ),
    );
  };
  return (
    <ConfirmDialog
      title="Is the cause resolved?"
      text="Sending continues at once. If the cause remains, it stops again."
      action="Continue sending"
      kind="primary"
      trigger={<Button>It is resolved</Button>}
      act={lift}
    />
  );
}
