import { useQuery } from "@tanstack/react-query";
import { counts_ms, useRefresh } from "../../api/live.ts";
import { voiceKeysQuery, type VoiceCampaign } from "../../api/voice.ts";
import { formatCount } from "../../ui/numbers.ts";
import { Panel } from "../../ui/panel.tsx";
import { ShareBars } from "../../ui/share-bars.tsx";
import { key_options } from "./content/file-words.ts";
import { KeysGraph } from "./keys-graph.tsx";
import { useMenuOf } from "./use-campaign-content.ts";

const special: Readonly<Record<string, string>> = {
  timeout: "No key",
  invalid: "Not a choice",
  entered: "Digits entered",
};

/** As on a telephone; what is no key comes last. */
function placeOfKey(key: string | null): number {
  const place = key_options.findIndex(({ value }) => value === key);
  return place === -1 ? key_options.length : place;
}

/** What callers pressed: at each node of the menu, or while the recording played. */
export function VoiceKeys({ campaign }: { readonly campaign: VoiceCampaign }) {
  const { campaign_id: id, live_answers } = campaign;
  const query = voiceKeysQuery(id);
  const { data = [] } = useQuery(query);
  const about = { campaign_id: id };
  useRefresh(["voice.campaign.progress"], query.queryKey, about, counts_ms);
  useRefresh(["voice.campaign.completed"], query.queryKey, about);
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
          const keys = [...pressed, ...offered].toSorted(
            (a, b) => placeOfKey(a.key) - placeOfKey(b.key),
          );
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
