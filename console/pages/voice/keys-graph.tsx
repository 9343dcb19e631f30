import { useQuery } from "@tanstack/react-query";
import type { Row } from "../../api/answer.ts";
import { menuQuery, voiceFileQuery } from "../../api/voice.ts";
import { formatCount } from "../../ui/numbers.ts";
import { useMay } from "../../ui/permission.ts";
import { LazyMenuGraph } from "./menus/lazy-menu-graph.tsx";
import { draftOf } from "./menus/menu-draft.ts";

/** How many callers went which way, on the menu as it is now; nothing if it may not be read. */
export function KeysGraph({
  file_id,
  data,
}: {
  readonly file_id: number;
  readonly data: readonly Row<"readVoiceKeys">[];
}) {
  const reads = useMay("voice.content.read");
  const manages = useMay("voice.content.manage");
  const { data: file } = useQuery({ ...voiceFileQuery(file_id), enabled: reads || manages });
  const menu_id = file?.menu_id ?? null;
  const { data: menu } = useQuery({ ...menuQuery(menu_id ?? 0), enabled: menu_id !== null });
  if (!menu) return null;
  const callersOf = (node: string, key: string | null) =>
    data.find((one) => one.node === node && one.key === key)?.callers;
  return (
    <LazyMenuGraph
      menu={draftOf(menu)}
      countOf={(node, key) => {
        const callers = callersOf(node, key);
        if (key === null) return `Reached by ${formatCount(callers ?? 0)}`;
        return callers === undefined ? null : `${formatCount(callers)}×`;
      }}
    />
  );
}
