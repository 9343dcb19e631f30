import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { queryClient } from "../../api/query-client.ts";
import { voicePaceQuery, type VoiceCampaign } from "../../api/voice.ts";
import { MinuteBars } from "../../ui/minute-bars.tsx";

/** The calls of each minute of the last hour; nothing if there were none. */
export function VoicePace({
  campaign: { campaign_id: id, attempts },
}: {
  readonly campaign: VoiceCampaign;
}) {
  const query = voicePaceQuery(id, 60);
  const { data = [] } = useQuery(query);
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: query.queryKey });
  }, [id, attempts]);
  return (
    <MinuteBars
      title="Calls a minute"
      data={data.map(({ minute, placed }) => ({ minute, count: placed }))}
    />
  );
}
