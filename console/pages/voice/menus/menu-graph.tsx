import { graphlib, layout } from "@dagrejs/dagre";
import {
  Handle,
  MarkerType,
  Position,
  ReactFlow,
  type Edge,
  type Node,
  type NodeProps,
} from "@xyflow/react";
import { useMemo } from "react";
// oxlint-disable-next-line no-unassigned-import -- A style sheet.
import "@xyflow/react/dist/base.css";
import { linksOf, type MenuDraft } from "./menu-draft.ts";
import { node_words } from "./node-words.ts";

const width = 190;
const height = 72;

export type MenuGraphProps = {
  readonly menu: Pick<MenuDraft, "start" | "nodes">;
  /** Where the caller is. */
  readonly current?: string | null;
  /** Nodes with an error. */
  readonly wrong?: ReadonlySet<string>;
  /** What happened at a node or on a way, in few words. */
  readonly countOf?: (node: string, key: string | null) => string | null;
  readonly onSelect?: (node: string) => void;
};

type Step = Node<
  {
    readonly name: string;
    readonly label: string;
    readonly text: string | null;
    readonly isStart: boolean;
    readonly isCurrent: boolean;
    readonly isWrong: boolean;
  },
  "step"
>;

/** Draws a menu: each step a box, each way an arrow with its key. */
export function MenuGraph(props: MenuGraphProps) {
  const { menu, current = null, wrong, countOf, onSelect } = props;
  const places = useMemo(() => arrange(menu), [menu]);
  const nodes = Object.entries(menu.nodes).map(([name, node]): Step => ({
    id: name,
    type: "step",
    position: places.get(name)!,
    width,
    height,
    data: {
      name,
      label: node_words[node.type].label,
      text: countOf?.(name, null) ?? node.prompt?.say ?? null,
      isStart: name === menu.start,
      isCurrent: name === current,
      isWrong: wrong?.has(name) ?? false,
    },
  }));
  return (
    <ReactFlow
      nodes={nodes}
      edges={edgesOf(menu, countOf)}
      nodeTypes={node_types}
      fitView
      minZoom={0.2}
      nodesDraggable={false}
      nodesConnectable={false}
      nodesFocusable={false}
      edgesFocusable={false}
      elementsSelectable={false}
      disableKeyboardA11y
      // A link to another site, in a part that is left out for the keyboard.
      proOptions={{ hideAttribution: true }}
      zoomOnScroll={false}
      preventScrolling={false}
      onNodeClick={(_, { id }) => onSelect?.(id)}
    />
  );
}

const node_types = { step: StepBox };

function StepBox({ data }: NodeProps<Step>) {
  const { name, label, text, isStart, isCurrent, isWrong } = data;
  const border = isWrong
    ? "border-danger"
    : isCurrent
      ? "border-accent ring-accent ring-2"
      : "border-line";
  return (
    <div
      className={`bg-panel text-ink size-full cursor-pointer overflow-hidden rounded-lg border px-3 py-1.5 text-xs ${border}`}
    >
      <Handle type="target" position={Position.Top} className="opacity-0" />
      <p className="truncate font-medium">
        {isStart && "▶ "}
        {name}
      </p>
      <p className="text-muted truncate">{label}</p>
      <p className="truncate">{text}</p>
      <Handle type="source" position={Position.Bottom} className="opacity-0" />
    </div>
  );
}

/** Ways between the same steps are one arrow with all their keys. */
function edgesOf(menu: MenuGraphProps["menu"], countOf: MenuGraphProps["countOf"]): Edge[] {
  const ways = new Map<string, Edge & { readonly keys: string[] }>();
  for (const { from, to, label } of linksOf(menu)) {
    const id = `${from} ${to}`;
    const count = countOf?.(from, label) ?? null;
    const shown = count === null ? label : `${label}: ${count}`;
    const known = ways.get(id);
    if (known) known.keys.push(shown);
    else ways.set(id, { id, source: from, target: to, keys: [shown] });
  }
  return [...ways.values()].map(({ keys, ...edge }) => ({
    ...edge,
    label: keys.join(", "),
    labelStyle: { fill: "var(--color-ink)" },
    labelBgStyle: { fill: "var(--color-page)" },
    markerEnd: { type: MarkerType.ArrowClosed },
  }));
}

function arrange(menu: MenuGraphProps["menu"]): ReadonlyMap<string, { x: number; y: number }> {
  const graph = new graphlib.Graph();
  graph.setGraph({ nodesep: 40, ranksep: 60 });
  graph.setDefaultEdgeLabel(() => ({}));
  // The first step is the first node, so that it is at the top.
  for (const name of new Set([menu.start, ...Object.keys(menu.nodes)]))
    if (Object.hasOwn(menu.nodes, name)) graph.setNode(name, { width, height });
  for (const { from, to } of linksOf(menu)) graph.setEdge(from, to);
  layout(graph);
  return new Map(
    graph.nodes().map((name) => {
      const { x, y } = graph.node(name) as { x: number; y: number };
      return [name, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
}
