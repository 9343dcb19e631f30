import { lazy, Suspense } from "react";
import type { MenuGraphProps } from "./menu-graph.tsx";

const MenuGraph = lazy(async () => ({ default: (await import("./menu-graph.tsx")).MenuGraph }));

/** A menu as a graph. It repeats what the list beside it says, so a screen reader leaves it out. */
export function LazyMenuGraph(props: MenuGraphProps) {
  return (
    <div aria-hidden className="border-line bg-page h-96 overflow-auto rounded-lg border">
      <Suspense fallback={null}>
        <MenuGraph {...props} />
      </Suspense>
    </div>
  );
}
