import type { Row } from "../../api/answer.ts";
import type { Menu } from "../../api/voice.ts";
import { formatCount } from "../../ui/numbers.ts";
import { LazyMenuGraph } from "./menus/lazy-menu-graph.tsx";
import { draftOf } from "./menus/menu-draft.ts";

/** How many callers went which way, on the menu as it is now. */
export function KeysGraph({
  menu,
  data,
}: {
  readonly menu: Menu;
  readonly data: readonly Row<"readVoiceKeys">[];
}) {
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
