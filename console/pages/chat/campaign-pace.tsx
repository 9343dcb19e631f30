import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { paceQuery, type CampaignDetail } from "../../api/chat.ts";
import { queryClient } from "../../api/query-client.ts";
import { MinuteBars } from "../../ui/minute-bars.tsx";

/** What the campaign sent in each minute of the last hour; nothing if it sent nothing. */
export function CampaignPace({
  campaign: { id, sent_count },
}: {
  readonly campaign: CampaignDetail;
}) {
  const query = paceQuery(id, 60);
  const { data = [] } = useQuery(query);
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: query.queryKey });
  }, [id, sent_count]);
  return (
    <MinuteBars
      title="Messages a minute"
      data={data.map(({ minute, sent }) => ({ minute, count: sent }))}
    />
  );
}
