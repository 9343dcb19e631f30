import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { queryClient } from "../../api/query-client.ts";
import { voiceKeysQuery, type VoiceCampaign } from "../../api/voice.ts";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ShareBars } from "../../ui/share-bars.tsx";
import { KeysGraph } from "./keys-graph.tsx";

const special: Readonly<Record<string, string>> = {
  timeout: "No key",
  invalid: "Not a choice",
  entered: "Digits entered",
};

/** What callers pressed: at each node of the menu, or while the recording played. */
export function VoiceKeys({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { campaign_id: id, attempts, live_answers } = campaign;
  const query = voiceKeysQuery(id);
  const { data = [] } = useQuery(query);
  useEffect(() => {
    void queryClient.invalidateQueries({ queryKey: query.queryKey });
  }, [id, attempts, live_answers]);
  if (data.length === 0) return null;
  const reachedBy = (node: string | null) =>
    data.find((one) => one.node === node && one.key === null)?.callers ?? live_answers;
  const nodes = [...new Set(data.map(({ node }) => node))].toSorted(
    (a, b) => reachedBy(b) - reachedBy(a),
  );
  return (
    <Panel title="Keys pressed">
      {campaign.call_type === "obd_ivr" && (
        <KeysGraph file_id={campaign.voice_file_id} data={data} />
      )}
      <div className="grid gap-6 lg:grid-cols-2">
        {nodes.map((node) => {
          const reached = reachedBy(node);
          const keys = data.filter((one) => one.node === node && one.key !== null);
          return (
            <section key={node} className="flex min-w-0 flex-col gap-3">
              {node !== null && (
                <h3 className="wrap-anywhere">
                  <span className="font-mono">{node}</span>{" "}
                  <span className="text-muted">reached by {formatCount(reached)}</span>
                </h3>
              )}
              {keys.length > 0 && (
                <ShareBars
                  whole={reached}
                  rows={keys.map(({ key, callers }) => ({
                    label: special[key!] ?? `Key ${key!}`,
                    count: callers,
                  }))}
                />
              )}
            </section>
          );
        })}
      </div>
    </Panel>
  );
}
