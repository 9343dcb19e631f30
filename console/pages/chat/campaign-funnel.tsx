import type { CampaignDetail } from "../../api/chat.ts";
import { formatCount, formatShare } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";

/** Sent, delivered, read, replied: each as a share of what was sent. */
export function CampaignFunnel({ campaign }: { readonly campaign: CampaignDetail }) {
  const { sent_count, delivered_count, read_count, reply_count } = campaign;
  const steps = [
    { label: "Sent", count: sent_count },
    { label: "Delivered", count: delivered_count },
    { label: "Read", count: read_count },
    { label: "Replies", count: reply_count },
  ];
  return (
    <Panel title="Outcome">
      <dl className="flex flex-col gap-4">
        {steps.map(({ label, count }) => (
          <div key={label} className="grid grid-cols-[6rem_1fr_auto] items-center gap-3">
            <dt>{label}</dt>
            <dd aria-hidden className="bg-hover h-2.5 overflow-hidden rounded-full">
              <div
                className="bg-accent h-full rounded-full transition-[width] duration-300"
                style={{
                  width: `${sent_count === 0 ? 0 : Math.min(100, (count / sent_count) * 100)}%`,
                }}
              />
            </dd>
            <dd className="min-w-24 text-right tabular-nums">
              {formatCount(count)}{" "}
              <span className="text-muted text-xs">{formatShare(count, sent_count)}</span>
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  );
}
