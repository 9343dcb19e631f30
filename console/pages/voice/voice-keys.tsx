import { useQuery } from "@tanstack/react-query";
import { useEffect } from "react";
import { queryClient } from "../../api/query-client.ts";
import {
  menuQuery,
  voiceFileQuery,
  voiceKeysQuery,
  type Menu,
  type VoiceCampaign,
} from "../../api/voice.ts";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
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
  const menu = useMenuOf(campaign);
  if (data.length === 0) return null;
  const reachedBy = (node: string | null) =>
    data.find((one) => one.node === node && one.key === null)?.callers ?? live_answers;
  // Of steps that as many callers reached, the first of the menu.
  const placeOf = (node: string | null) => Object.keys(menu?.nodes ?? {}).indexOf(node ?? "");
  const nodes = [...new Set(data.map(({ node }) => node))].toSorted(
    (a, b) => reachedBy(b) - reachedBy(a) || placeOf(a) - placeOf(b),
  );
  return (
    <Panel title="Keys pressed">
      {menu && <KeysGraph menu={menu} data={data} />}
      <div className="grid gap-6 lg:grid-cols-2">
        {nodes.map((node) => {
          const reached = reachedBy(node);
          const pressed = data.filter((one) => one.node === node && one.key !== null);
          const step = menu?.nodes[node ?? ""];
          const offered = Object.keys(step && "keys" in step ? step.keys : {})
            .filter((key) => pressed.every((one) => one.key !== key))
            .map((key) => ({ key, callers: 0 }));
          const keys = [...pressed, ...offered];
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

/** Returns the campaign's menu as it is now, if it has one that may be read. */
function useMenuOf({ call_type, voice_file_id }: VoiceCampaign): Menu | undefined {
  const reads = useMay("voice.content.read");
  const manages = useMay("voice.content.manage");
  const enabled = call_type === "obd_ivr" && (reads || manages);
  const { data: file } = useQuery({ ...voiceFileQuery(voice_file_id), enabled });
  const menu_id = file?.menu_id ?? null;
  return useQuery({ ...menuQuery(menu_id ?? 0), enabled: menu_id !== null }).data;
}
