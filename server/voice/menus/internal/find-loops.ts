import type { FieldError } from "../../../lib/errors.ts";

/** A node of a menu as far as it matters for who gets where. */
export type Crossing = {
  /** Where it is told of. */
  readonly at: string;
  readonly steps: readonly {
    readonly to: string;
    /** It is taken by a caller who does nothing. */
    readonly unasked: boolean;
  }[];
  /** The call ends here, or is somebody else's. */
  readonly ends: boolean;
  /** Something is played here. */
  readonly isHeard: boolean;
};

type Crossings = ReadonlyMap<string, Crossing>;

/**
 * Nodes that cannot be reached from `start` (null: nobody can say), that callers never get out of, and
 * that go round without a sound. What a violation hides is taken to be good.
 */
export function findLoops(nodes: Crossings, start: string | null): FieldError[] {
  const reached = start === null ? null : reach(nodes, [start], () => true);
  const left = leavable(nodes, () => true);
  const leftByAll = leavable(nodes, ({ unasked }) => unasked);
  return [...nodes].flatMap(([name, { at }]) => {
    const reason =
      (reached?.has(name) === false && "cannot be reached from start") ||
      (!left.has(name) && "leads to no end: to no hang_up, opt_out or transfer") ||
      (!leftByAll.has(name) && "leads to no end for a caller who presses nothing") ||
      (isSilentLoop(nodes, name) && "is part of a loop in which nothing is played") ||
      null;
    return reason === null ? [] : [{ field: at, reason }];
  });
}

type Step = Crossing["steps"][number];

/** The nodes that one comes to from these, them included. */
function reach(
  nodes: Crossings,
  from: readonly string[],
  passes: (node: Crossing) => boolean,
): Set<string> {
  const reached = new Set<string>();
  const open = [...from];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const node = nodes.get(name);
    if (!node || reached.has(name) || !passes(node)) continue;
    reached.add(name);
    open.push(...node.steps.map(({ to }) => to));
  }
  return reached;
}

/** The nodes from which such steps lead to an end, or to where nobody can say. */
function leavable(nodes: Crossings, counts: (step: Step) => boolean): Set<string> {
  const left = new Set<string>();
  for (let before = -1; before < left.size;) {
    before = left.size;
    for (const [name, { steps, ends }] of nodes) {
      const taken = steps.filter(counts);
      const leaves = taken.some(({ to }) => left.has(to) || !nodes.has(to));
      if (ends || taken.length === 0 || leaves) left.add(name);
    }
  }
  return left;
}

function isSilentLoop(nodes: Crossings, name: string): boolean {
  const node = nodes.get(name)!;
  if (node.isHeard) return false;
  const next = node.steps.map(({ to }) => to);
  return reach(nodes, next, ({ isHeard }) => !isHeard).has(name);
}
