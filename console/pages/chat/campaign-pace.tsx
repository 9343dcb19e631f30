import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { paceQuery, type CampaignDetail } from "../../api/chat.ts";
import { queryClient } from "../../api/query-client.ts";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { useTimeFormat } from "../../ui/time.tsx";

const minutes = 60;
const minute_ms = 60_000;

/** What the campaign sent in each minute of the last hour; nothing if it sent nothing. */
export function CampaignPace({
  campaign: { id, sent_count },
}: {
  readonly campaign: CampaignDetail;
}) {
  const query = paceQuery(id, minutes);
  const { data = [] } = useQuery(query);
  const format = useTimeFormat({ timeStyle: "short" });
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: query.queryKey });
  }, [id, sent_count]);
  const last = data.at(-1);
  if (!last) return null;
  const sent = new Map(data.map((each) => [Date.parse(each.minute), each.sent]));
  const highest = Math.max(1, ...sent.values());
  const end_ms = Date.parse(last.minute);
  const bars = Array.from({ length: minutes }, (_, i) => end_ms - (minutes - 1 - i) * minute_ms);
  return (
    <Panel title="Messages a minute">
      <figure className="flex flex-col gap-2">
        <div aria-hidden className="flex h-24 items-end gap-px">
          {bars.map((at_ms) => (
            <div
              key={at_ms}
              title={`${format(new Date(at_ms).toISOString())}: ${formatCount(sent.get(at_ms) ?? 0)}`}
              style={{ height: `${((sent.get(at_ms) ?? 0) / highest) * 100}%` }}
              className="bg-accent min-h-px flex-1 rounded-t-sm"
            />
          ))}
        </div>
        <figcaption className="text-muted text-xs">
          The hour until {format(last.minute)}; at most {formatCount(highest)} in a minute
        </figcaption>
      </figure>
    </Panel>
  );
}
