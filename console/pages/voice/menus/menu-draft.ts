// A menu that is being edited: the body of the request, and the changes a person makes to it.
import type { Sent } from "../../../api/answer.ts";
import type { Menu } from "../../../api/voice.ts";

export type DraftNode = Sent<"createVoiceMenu">["nodes"][string];
export type NodeType = DraftNode["type"];
export type MenuDraft = {
  readonly name: string;
  readonly start: string;
  readonly nodes: Readonly<Record<string, DraftNode>>;
};

export const new_menu: MenuDraft = {
  name: "",
  start: "welcome",
  nodes: {
    welcome: {
      type: "menu",
      prompt: { say: "Hello {{name|there}}! Press 1 to talk to us, or 9 to stop these calls." },
      keys: { "1": "thanks", "9": "stop" },
      otherwise: "bye",
    },
    thanks: { type: "play", prompt: { say: "Thank you." }, next: "bye" },
    stop: { type: "opt_out", prompt: { say: "We will not call again." } },
    bye: { type: "hang_up", prompt: { say: "Goodbye." } },
  },
};

/** A saved menu is a body too: its defaults are filled in. */
export function draftOf({ name, start, nodes }: Menu): MenuDraft {
  return { name, start, nodes };
}

export function changeNode(draft: MenuDraft, name: string, change: Partial<DraftNode>): MenuDraft {
  return { ...draft, nodes: { ...draft.nodes, [name]: { ...draft.nodes[name]!, ...change } } };
}

/** Adds a node of a type under a free name, and returns the name. */
export function addNode(draft: MenuDraft, type: NodeType): readonly [MenuDraft, string] {
  const named = Array.from({ length: 200 }, (_, i) => (i === 0 ? type : `${type}_${i + 1}`));
  const name = named.find((one) => !Object.hasOwn(draft.nodes, one))!;
  const node: DraftNode = type === "menu" ? { type, keys: {} } : { type };
  return [{ ...draft, nodes: { ...draft.nodes, [name]: node } }, name];
}

export function removeNode(draft: MenuDraft, name: string): MenuDraft {
  const rest = Object.entries(draft.nodes).filter(([one]) => one !== name);
  return { ...draft, nodes: Object.fromEntries(rest) };
}

/** Renames a node wherever it is named, to a name that no node has. */
export function renameNode(draft: MenuDraft, from: string, to: string): MenuDraft {
  const renamed = (name: string) => (name === from ? to : name);
  const nodes = Object.entries(draft.nodes).map(([name, node]) => [
    renamed(name),
    withTargets(node, renamed),
  ]);
  return {
    ...draft,
    start: renamed(draft.start),
    nodes: Object.fromEntries(nodes) as MenuDraft["nodes"],
  };
}

function withTargets(node: DraftNode, renamed: (name: string) => string): DraftNode {
  const { next, otherwise, keys } = node;
  return {
    ...node,
    ...(next ? { next: renamed(next) } : {}),
    ...(otherwise ? { otherwise: renamed(otherwise) } : {}),
    ...(keys
      ? {
          keys: Object.fromEntries(
            Object.entries(keys).map(([key, target]) => [key, renamed(target)]),
          ),
        }
      : {}),
  };
}

/** A way from one node to another. */
export type MenuLink = {
  readonly from: string;
  readonly to: string;
  /** A key, or what it takes otherwise. */
  readonly label: string;
};

/** Returns every way of the menu, keys first. */
export function linksOf({ nodes }: Pick<MenuDraft, "nodes">): readonly MenuLink[] {
  return Object.entries(nodes).flatMap(([from, { keys, next, otherwise }]) =>
    [
      ...Object.entries(keys ?? {}).map(([label, to]) => ({ from, to, label })),
      { from, to: next, label: "then" },
      { from, to: otherwise, label: "otherwise" },
    ].flatMap(({ to, ...link }) => (to && Object.hasOwn(nodes, to) ? [{ ...link, to }] : [])),
  );
}
