import type { DraftNode, NodeType } from "./menu-draft.ts";

/** What a node does, and what can be set of it. */
export type NodeField =
  | { readonly kind: "prompt"; readonly name: "prompt" | "invalid_prompt"; readonly label: string }
  | { readonly kind: "target"; readonly name: "next" | "otherwise"; readonly label: string }
  | {
      readonly kind: "number";
      readonly name: NumberName;
      readonly label: string;
      readonly placeholder: string;
    }
  | {
      readonly kind: "text";
      readonly name: "variable" | "field" | "value";
      readonly label: string;
      readonly note: string;
    }
  | { readonly kind: "keys" }
  | { readonly kind: "transfer" };

type NumberName = {
  [Name in keyof DraftNode]-?: NonNullable<DraftNode[Name]> extends number ? Name : never;
}[keyof DraftNode];

const prompt = { kind: "prompt", name: "prompt", label: "Says" } as const;
const next = { kind: "target", name: "next", label: "Then" } as const;
const otherwise = (label: string) => ({ kind: "target", name: "otherwise", label }) as const;
const number = (name: NumberName, label: string, placeholder: string) =>
  ({ kind: "number", name, label, placeholder }) as const;
const asks: readonly NodeField[] = [
  { kind: "prompt", name: "invalid_prompt", label: "Says after a wrong key" },
  number("timeout_seconds", "Seconds to wait for a key", "5"),
  number("tries", "Attempts", "3"),
  otherwise("After the last attempt"),
];

/** Every type of node, in the order in which they are offered. */
export const node_words: Readonly<
  Record<NodeType, { readonly label: string; readonly fields: readonly NodeField[] }>
> = {
  menu: { label: "Ask for a key", fields: [prompt, { kind: "keys" }, ...asks] },
  play: { label: "Say something", fields: [prompt, next] },
  capture: {
    label: "Ask for digits",
    fields: [
      prompt,
      {
        kind: "text",
        name: "variable",
        label: "Keep them as",
        note: "A name for later texts: order becomes {{order}}.",
      },
      number("min_digits", "At least so many digits", "1"),
      number("max_digits", "At most so many digits", "20"),
      next,
      ...asks,
    ],
  },
  record: {
    label: "Record a message",
    fields: [
      prompt,
      number("max_seconds", "Longest message in seconds", "60"),
      number("silence_seconds", "Seconds of silence that end it", "5"),
      next,
    ],
  },
  transfer: {
    label: "Transfer to an agent",
    fields: [prompt, { kind: "transfer" }, otherwise("If no agent answers")],
  },
  callback: {
    label: "Call back later",
    fields: [prompt, number("delay_minutes", "After so many minutes", "30")],
  },
  opt_out: { label: "Opt out", fields: [prompt] },
  set_field: {
    label: "Set a field of the lead",
    fields: [
      {
        kind: "text",
        name: "field",
        label: "Field",
        note: "The key of a custom field of the workspace.",
      },
      {
        kind: "text",
        name: "value",
        label: "Value",
        note: "May contain {{variables}} and digits that were asked for.",
      },
      next,
    ],
  },
  hang_up: { label: "Hang up", fields: [prompt] },
};
