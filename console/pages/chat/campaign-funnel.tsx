import type { CampaignDetail } from "../../api/chat.ts";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ShareBars } from "../../ui/share-bars.tsx";

/** Sent, delivered, read: each as a share of what was sent. Replies are no share: one person may write several. */
export function CampaignFunnel({ campaign }: { readonly campaign: CampaignDetail }) {
  const { sent_count, delivered_count, read_count } = campaign;
  return (
    <Panel title="Outcome">
      <ShareBars
        whole={sent_count}
        rows={[
          { label: "Sent", count: sent_count },
          { label: "Delivered", count: delivered_count },
          { label: "Read", count: read_count },
        ]}
        of={`Of the ${formatCount(sent_count)} ${sent_count === 1 ? "message" : "messages"} sent.`}
      />
    </Panel>
  );
}
