import type { FieldError } from "../../../lib/errors.ts";

/** A node of a menu, reduced to its links. */
export type LinkedNode = {
  /** The field that violations are reported on. */
  readonly at: string;
  readonly links: readonly {
    readonly to: string;
    /** The link applies without input from the caller. */
    readonly automatic: boolean;
  }[];
  /** The call ends or is transferred here. */
  readonly ends: boolean;
  readonly playsPrompt: boolean;
};

type LinkedNodes = ReadonlyMap<string, LinkedNode>;

/**
 * Returns violations for nodes that cannot be reached from `start` (null: unknown), that never lead to
 * an end, and that form a loop without a prompt. Unknown parts are assumed to be valid.
 */
export function findLoops(nodes: LinkedNodes, start: string | null): FieldError[] {
  const reached = start === null ? null : reach(nodes, [start], () => true);
  const ending = findEnding(nodes, () => true);
  const endsUnaided = findEnding(nodes, ({ automatic }) => automatic);
  return [...nodes].flatMap(([name, { at }]) => {
    const reason =
      (reached?.has(name) === false && "must be reachable from start") ||
      (!ending.has(name) && "must lead to a hang_up, callback, opt_out or transfer node") ||
      (!endsUnaided.has(name) &&
        "must lead to a hang_up, callback, opt_out or transfer node when the caller presses nothing") ||
      (isSilentLoop(nodes, name) && "must not be part of a loop without a prompt") ||
      null;
    return reason === null ? [] : [{ field: at, reason }];
  });
}

type Link = LinkedNode["links"][number];

/** Returns the nodes that are reachable from these through nodes that pass, these included. */
function reach(
  nodes: LinkedNodes,
  from: readonly string[],
  passes: (node: LinkedNode) => boolean,
): Set<string> {
  const reached = new Set<string>();
  const open = [...from];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const node = nodes.get(name);
    if (!node || reached.has(name) || !passes(node)) continue;
    reached.add(name);
    open.push(...node.links.map(({ to }) => to));
  }
  return reached;
}

/** Returns the nodes from which the links that count lead to an end or to an unknown node. */
function findEnding(nodes: LinkedNodes, counts: (link: Link) => boolean): Set<string> {
  const ending = new Set<string>();
  for (let before = -1; before < ending.size;) {
    before = ending.size;
    for (const [name, { links, ends }] of nodes) {
      const followed = links.filter(counts);
      const leadsToEnd = followed.some(({ to }) => ending.has(to) || !nodes.has(to));
      if (ends || followed.length === 0 || leadsToEnd) ending.add(name);
    }
  }
  return ending;
}

function isSilentLoop(nodes: LinkedNodes, name: string): boolean {
  const node = nodes.get(name)!;
  if (node.playsPrompt) return false;
  const next = node.links.map(({ to }) => to);
  return reach(nodes, next, ({ playsPrompt }) => !playsPrompt).has(name);
}
