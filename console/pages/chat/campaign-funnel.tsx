import type { CampaignDetail } from "../../api/chat.ts";
import { Panel } from "../../ui/panel.tsx";
import { ShareBars } from "../../ui/share-bars.tsx";

/** Sent, delivered, read, replied: each as a share of what was sent. */
export function CampaignFunnel({ campaign }: { readonly campaign: CampaignDetail }) {
  const { sent_count, delivered_count, read_count, reply_count } = campaign;
  return (
    <Panel title="Outcome">
      <ShareBars
        whole={sent_count}
        rows={[
          { label: "Sent", count: sent_count },
          { label: "Delivered", count: delivered_count },
          { label: "Read", count: read_count },
          { label: "Replies", count: reply_count },
        ]}
      />
    </Panel>
  );
}
