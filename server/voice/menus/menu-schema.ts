// Request, response and storage schemas of menus.
import Type, { type Static } from "typebox";
import { shownName } from "../../accounts/accounts/account-schema.ts";
import type { MenuNode, TransferTarget } from "../../calls/state-machine/menu.ts";
import { closed, id, mapOf, optional, timestamp } from "../../lib/schemas.ts";
import {
  boundedText,
  default_language,
  language,
  leadField,
  TransferInput,
} from "../files/content-schema.ts";

export const nodes_max = 100;
const prompt_characters_max = 2_000;

export const node_types = [
  "play",
  "menu",
  "capture",
  "record",
  "transfer",
  "callback",
  "opt_out",
  "set_field",
  "hang_up",
] as const satisfies readonly MenuNode["type"][];

/** The prompt of a node: a text to synthesize or a voice file. */
export type MenuPrompt =
  | { readonly say: string; readonly language: string }
  | { readonly voice_file_id: number };

/** A node of calls/state-machine/menu.ts with the prompts of this file. */
type WithPrompts<Node> = {
  readonly [Key in keyof Node]: Key extends "prompt" | "invalid_prompt"
    ? MenuPrompt | Extract<Node[Key], null>
    : Node[Key];
};
export type GraphNode = MenuNode extends infer Node
  ? Node extends MenuNode
    ? WithPrompts<Node>
    : never
  : never;

/** The stored form of a menu, with defaults filled in. */
export type MenuGraph = {
  readonly start: string;
  readonly nodes: Readonly<Record<string, GraphNode>>;
};

const PromptInput = (description: string) =>
  closed(
    {
      say: optional(
        boundedText(
          prompt_characters_max,
          "Text to synthesize; may contain {{variables}} of the recipient and captured variables",
        ),
      ),
      language: optional(language),
      voice_file_id: optional(id("A ready voice file of the account")),
    },
    { description: `${description}: say or voice_file_id` },
  );

const target = (description: string) =>
  Type.String({ minLength: 1, maxLength: 64, description: `The next node${description}` });
const seconds = (maximum: number, description: string) =>
  Type.Integer({ minimum: 1, maximum, description });
const digits = (description: string) => Type.Integer({ minimum: 1, maximum: 32, description });

const NodeInput = closed(
  {
    type: Type.Enum(node_types, { type: "string" }),
    prompt: optional(PromptInput("The prompt")),
    next: optional(target(": play, capture, record, set_field")),
    keys: optional(
      mapOf(target(" a key"), {
        description: "menu: a key of 0-9, * or # to the node it leads to",
      }),
    ),
    invalid_prompt: optional(PromptInput("menu, capture: played after invalid input")),
    timeout_seconds: optional(
      seconds(60, "menu, capture: how long to wait for a key after the prompt. Default: 5"),
    ),
    tries: optional(
      Type.Integer({
        minimum: 1,
        maximum: 10,
        description: "menu, capture: the most attempts. Default: 3",
      }),
    ),
    otherwise: optional(
      target(": menu, capture: after the last invalid attempt; transfer: when no agent answers"),
    ),
    variable: optional(
      Type.String({
        pattern: "^[A-Za-z0-9_ .-]{1,64}$",
        description: "capture: the name of the digits in later {{variables}} and the call record",
        "x-reason": "must be 1 to 64 letters, digits, spaces, _, . or -",
      }),
    ),
    min_digits: optional(digits("capture; default: 1")),
    max_digits: optional(digits("capture; default: 20")),
    max_seconds: optional(seconds(600, "record: the longest message. Default: 60")),
    silence_seconds: optional(seconds(60, "record: silence that ends the message. Default: 5")),
    to: optional(TransferInput),
    delay_minutes: optional(
      Type.Integer({
        minimum: 1,
        maximum: 10_080,
        description: "callback: when the recipient is called again. Default: 30",
      }),
    ),
    field: optional(leadField("set_field: a custom field's key")),
    value: optional(boundedText(500, "set_field: may contain {{variables}}")),
  },
  { title: "VoiceMenuNode", description: "A node of the menu; its type determines its fields" },
);

const name = shownName("Unique in the account");
const start = Type.String({
  minLength: 1,
  maxLength: 64,
  description: "The first node",
});
const nodes = mapOf(NodeInput, {
  description: `By name: 1 to 64 letters, digits, _ or -, beginning with a letter; at most ${nodes_max}`,
});
const example = {
  start: "main",
  nodes: {
    main: {
      type: "menu",
      prompt: { say: "Hello {{name|there}}. For an agent press 1, to be called no more press 9." },
      keys: { "1": "agent", "9": "stop" },
      otherwise: "bye",
    },
    agent: {
      type: "transfer",
      prompt: { say: "One moment please." },
      to: { extension: "101" },
      otherwise: "bye",
    },
    stop: { type: "opt_out", prompt: { say: "We will not call again." } },
    bye: { type: "hang_up", prompt: { say: "Goodbye." } },
  },
};

/** The body of a menu's creation; validateMenu validates the rest. */
export const NewMenu = closed(
  { name, start, nodes },
  {
    title: "NewVoiceMenu",
    description: "A menu to create",
    examples: [{ name: "Main menu", ...example }],
  },
);
export type NewMenu = Static<typeof NewMenu>;

/** A change of a menu; `nodes` replaces all nodes. */
export const MenuPatch = closed(
  { name: Type.Optional(name), start: Type.Optional(start), nodes: Type.Optional(nodes) },
  {
    title: "VoiceMenuPatch",
    minProperties: 1,
    description: "The fields to change, for campaigns launched from now on",
    examples: [{ name: "Main menu, evenings" }],
  },
);
export type MenuPatch = Static<typeof MenuPatch>;

export const MenuResponse = Type.Object(
  {
    id: id("Menu id"),
    name: Type.String(),
    start: Type.String(),
    nodes: Type.Unsafe<MenuGraph["nodes"]>({
      type: "object",
      additionalProperties: { type: "object", additionalProperties: true },
      description: "As sent, with defaults filled in",
    }),
    created_at: timestamp("UTC"),
    updated_at: timestamp("UTC"),
  },
  { title: "VoiceMenu" },
);
export type MenuResponse = Static<typeof MenuResponse>;

/** Converts a valid body to its stored form, with defaults filled in. */
export function graphOf({
  start: first,
  nodes: given,
}: Pick<NewMenu, "start" | "nodes">): MenuGraph {
  const stored = Object.entries(given).map(([key, node]) => [key, nodeOf(node)] as const);
  return { start: first, nodes: Object.fromEntries(stored) };
}

type NodeInput = Static<typeof NodeInput>;
type PromptInput = NonNullable<NodeInput["prompt"]>;

// validateMenu guarantees that the required fields of each type are present.
function nodeOf(node: NodeInput): GraphNode {
  const { type, timeout_seconds, tries } = node;
  const prompt = node.prompt ? promptOf(node.prompt) : null;
  const ask = {
    prompt: prompt!,
    invalid_prompt: node.invalid_prompt ? promptOf(node.invalid_prompt) : null,
    timeout_seconds: timeout_seconds ?? 5,
    tries: tries ?? 3,
    otherwise: node.otherwise!,
  };
  const next = node.next!;
  switch (type) {
    case "play":
      return { type, prompt: prompt!, next };
    case "menu":
      return { type, ...ask, keys: node.keys! };
    case "capture": {
      const { variable, min_digits, max_digits } = node;
      const length = { min_digits: min_digits ?? 1, max_digits: max_digits ?? 20 };
      return { type, ...ask, variable: variable!, ...length, next };
    }
    case "record": {
      const { max_seconds, silence_seconds } = node;
      const limits = { max_seconds: max_seconds ?? 60, silence_seconds: silence_seconds ?? 5 };
      return { type, prompt: prompt!, ...limits, next };
    }
    case "transfer":
      return { type, prompt, to: targetOf(node.to!), otherwise: node.otherwise! };
    case "callback":
      return { type, prompt, delay_minutes: node.delay_minutes ?? 30 };
    case "set_field":
      return { type, field: node.field!, value: node.value!, next };
    default:
      return { type, prompt };
  }
}

function promptOf({ say, language: tag, voice_file_id }: PromptInput): MenuPrompt {
  return typeof voice_file_id === "number"
    ? { voice_file_id }
    : { say: say!, language: tag ?? default_language };
}

/** Converts a validated transfer target to its stored form. */
export function targetOf({
  extension,
  agent_group_id,
}: Static<typeof TransferInput>): TransferTarget {
  return extension ? { extension } : { agent_group_id: agent_group_id! };
}
