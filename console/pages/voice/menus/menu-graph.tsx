import { graphlib, layout } from "@dagrejs/dagre";
import {
  BaseEdge,
  Handle,
  MarkerType,
  Position,
  ReactFlow,
  type Edge,
  type EdgeProps,
  type Node,
  type NodeHandle,
  type NodeProps,
  type ReactFlowInstance,
} from "@xyflow/react";
import { useEffect, useMemo, useRef, useState } from "react";
// oxlint-disable-next-line no-unassigned-import -- A style sheet.
import "@xyflow/react/dist/base.css";
import { linksOf, type MenuDraft } from "./menu-draft.ts";
import { node_words } from "./node-words.ts";

const width = 190;
const height = 72;
/** Smaller, its texts are hard to read: a larger menu is scrolled instead. */
const zoom_min = 0.8;
/** The share of the frame that the library keeps free, at both sides together. */
const free_share = 0.2;

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
  const ways = waysOf(menu, countOf);
  const shape = JSON.stringify([menu.start, Object.keys(menu.nodes), ways]);
  const { places, routes, size } = useMemo(() => arrange(menu, ways), [shape]);
  const [flow, setFlow] = useState<ReactFlowInstance<Step, WayEdge> | null>(null);
  const frame = useFrame(flow, size, places.get(menu.start));
  const nodes = Object.entries(menu.nodes).map(([name, node]): Step => ({
    id: name,
    type: "step",
    position: places.get(name)!,
    width,
    height,
    // Given, not measured: a step that is renamed keeps its arrows.
    handles,
    data: {
      name,
      label: node_words[node.type].label,
      text: countOf?.(name, null) ?? node.prompt?.say ?? null,
      isStart: name === menu.start,
      isCurrent: name === current,
      isWrong: wrong?.has(name) ?? false,
    },
  }));
  const least = (px: number) => (px * zoom_min) / (1 - free_share);
  return (
    <div
      className="size-full"
      style={{ minWidth: least(size.width), minHeight: least(size.height) }}
    >
      <ReactFlow
        ref={frame}
        nodes={nodes}
        edges={ways.map((way) => edgeOf(way, routes))}
        nodeTypes={node_types}
        edgeTypes={edge_types}
        onInit={setFlow}
        minZoom={0.2}
        maxZoom={1.2}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        elementsSelectable={false}
        disableKeyboardA11y
        // A link to another site, in a part that is left out for the keyboard.
        proOptions={{ hideAttribution: true }}
        // The frame around it scrolls, also under a finger.
        panOnDrag={false}
        zoomOnScroll={false}
        zoomOnPinch={false}
        zoomOnDoubleClick={false}
        preventScrolling={false}
        onNodeClick={(_, { id }) => onSelect?.(id)}
      />
    </div>
  );
}

/** Fits the drawing to its frame when either changes, and scrolls to the first step. */
function useFrame(
  flow: ReactFlowInstance<Step, WayEdge> | null,
  size: { readonly width: number; readonly height: number },
  start: Point | undefined,
) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const fit = () => void flow?.fitBounds({ x: 0, y: 0, ...size });
    fit();
    const resized = new ResizeObserver(fit);
    resized.observe(frame.current!);
    return () => resized.disconnect();
  }, [flow, size]);
  useEffect(() => {
    const scroller = frame.current?.parentElement?.parentElement;
    if (!scroller || !start) return;
    const middle = (start.x + width / 2) / size.width;
    scroller.scrollLeft = middle * scroller.scrollWidth - scroller.clientWidth / 2;
  }, [flow, size]);
  return frame;
}

const handles: NodeHandle[] = [
  { type: "target", position: Position.Top, x: width / 2, y: 0 },
  { type: "source", position: Position.Bottom, x: width / 2, y: height },
];

const node_types = { step: StepBox };
const edge_types = { way: WayLine };

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

/** The one way between two steps, with all its keys. */
type Way = { readonly from: string; readonly to: string; readonly label: string };

function waysOf(menu: MenuGraphProps["menu"], countOf: MenuGraphProps["countOf"]): Way[] {
  const ways = new Map<string, Way>();
  for (const { from, to, label } of linksOf(menu)) {
    const id = `${from} ${to}`;
    const count = countOf?.(from, label) ?? null;
    const shown = count === null ? label : `${label}: ${count}`;
    const known = ways.get(id);
    ways.set(id, { from, to, label: known ? `${known.label}, ${shown}` : shown });
  }
  return [...ways.values()];
}

/** The points that an arrow passes, around the boxes between its ends, and the middle of its label. */
type Route = { readonly points: readonly Point[]; readonly x: number; readonly y: number };
type Point = { readonly x: number; readonly y: number };
type WayEdge = Edge<Route, "way">;

function edgeOf({ from, to, label }: Way, routes: ReadonlyMap<string, Route>): WayEdge {
  const id = `${from} ${to}`;
  return {
    id,
    type: "way",
    source: from,
    target: to,
    label,
    data: routes.get(id)!,
    labelStyle: { fill: "var(--color-ink)" },
    labelBgStyle: { fill: "var(--color-page)" },
    markerEnd: { type: MarkerType.ArrowClosed },
  };
}

function WayLine({ id, label, labelStyle, labelBgStyle, markerEnd, data }: EdgeProps<WayEdge>) {
  const { points, x, y } = data!;
  return (
    <BaseEdge
      id={id}
      path={curveThrough(points)}
      label={label}
      labelX={x}
      labelY={y}
      labelStyle={labelStyle}
      labelBgStyle={labelBgStyle}
      markerEnd={markerEnd}
    />
  );
}

/** A curve from the first to the last point, which bends towards those between. */
function curveThrough(points: readonly Point[]): string {
  const at = ({ x, y }: Point) => `${x},${y}`;
  const middle = (a: Point, b: Point): Point => ({ x: (a.x + b.x) / 2, y: (a.y + b.y) / 2 });
  const bends = points.slice(1, -1).map((point, i, all) => {
    const next = all[i + 1];
    return `Q${at(point)} ${at(next ? middle(point, next) : points.at(-1)!)}`;
  });
  return `M${at(points[0]!)} ${bends.join(" ")}`;
}

/** An arrow from a step to itself, in the room that the layout keeps at its right. */
function besideBox({ x, y }: Point): Route {
  const right = x + width / 2;
  const points = [
    { x: right, y: y + 15 },
    { x: right + 30, y: y + 15 },
    { x: right + 30, y: y - 15 },
    { x: right, y: y - 15 },
  ];
  return { points, x: right + 25, y };
}

/** Places the steps from top to bottom, and leads the arrows around them. */
function arrange(menu: MenuGraphProps["menu"], ways: readonly Way[]) {
  const graph = new graphlib.Graph();
  graph.setGraph({ nodesep: 40, ranksep: 40 });
  // The first step is the first node, so that it is at the top.
  for (const name of new Set([menu.start, ...Object.keys(menu.nodes)]))
    if (Object.hasOwn(menu.nodes, name)) graph.setNode(name, { width, height });
  for (const { from, to, label } of ways)
    graph.setEdge(from, to, { width: label.length * 7 + 10, height: 20, labelpos: "c" });
  layout(graph);
  const places = new Map(
    graph.nodes().map((name) => {
      const { x, y } = graph.node(name) as Point;
      return [name, { x: x - width / 2, y: y - height / 2 }];
    }),
  );
  const routes = new Map(
    ways.map(({ from, to }) => [
      `${from} ${to}`,
      from === to
        ? besideBox(graph.node(from) as Point)
        : (graph.edge(from, to) as unknown as Route),
    ]),
  );
  // Of all of it, with the arrows and their labels.
  const { width: x = 0, height: y = 0 } = graph.graph() as { width?: number; height?: number };
  const size = { width: x, height: y };
  return isReversed(menu, places)
    ? { ...mirror(places, routes, x), size }
    : { places, routes, size };
}

/** Whether the first step's first key leads to the right of its last one. */
function isReversed(
  { start, nodes }: MenuGraphProps["menu"],
  places: ReadonlyMap<string, Point>,
): boolean {
  const targets = Object.values(nodes[start]?.keys ?? {}).flatMap((to) => places.get(to) ?? []);
  return targets.length > 1 && targets[0]!.x > targets.at(-1)!.x;
}

/** The layout crosses few arrows, but does not know that keys are read from left to right. */
function mirror(
  places: ReadonlyMap<string, Point>,
  routes: ReadonlyMap<string, Route>,
  all: number,
): { readonly places: Map<string, Point>; readonly routes: Map<string, Route> } {
  const flip = <At extends Point>(at: At): At => ({ ...at, x: all - at.x });
  return {
    places: new Map([...places].map(([name, { x, y }]) => [name, { x: all - x - width, y }])),
    routes: new Map(
      [...routes].map(([id, route]) => [id, { ...flip(route), points: route.points.map(flip) }]),
    ),
  };
}
