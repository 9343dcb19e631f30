// Tries a menu, saved or not, with keys instead of a phone.
import Type, { type Static } from "typebox";
import type { Menu, MenuNode, Prompt } from "../../calls/state-machine/menu.ts";
import {
  beginTrial,
  passTime,
  pressKey,
  viewOf,
  type MenuTrial,
} from "../../calls/state-machine/try-menu.ts";
import { closed, id, mapOf, nullable, optional } from "../../lib/schemas.ts";
import { graphOf, NewMenu, type GraphNode, type MenuPrompt } from "./menu-schema.ts";

/** More than a call may have visits. */
const presses_max = 500;
/** Time that passes until the menu goes on by itself. */
const wait = "wait";

export const MenuTrialInput = closed(
  {
    start: NewMenu.properties.start,
    nodes: NewMenu.properties.nodes,
    variables: optional(
      mapOf(Type.String(), {
        maxProperties: 500,
        description: "The recipient's values of {{variables}}",
      }),
    ),
    presses: optional(
      Type.Array(
        Type.String({
          pattern: "^(?:[0-9*#]|wait)$",
          "x-reason": "must be a key of 0-9, * and #, or wait",
        }),
        {
          maxItems: presses_max,
          description:
            "What the caller does, in order: a key, or wait until the prompt, the time for a key, the message or the search for an agent is over",
        },
      ),
    ),
  },
  {
    title: "MenuTrial",
    description: "A menu, and what its caller does",
    examples: [
      {
        start: "bye",
        nodes: { bye: { type: "hang_up", prompt: { say: "Goodbye {{name|friend}}." } } },
        variables: { name: "Ada" },
        presses: [wait],
      },
    ],
  },
);
type MenuTrialInput = Static<typeof MenuTrialInput>;

const Played = Type.Union([
  Type.Object({
    say: Type.String({ description: "With its variables filled in" }),
    language: Type.String(),
  }),
  Type.Object({ voice_file_id: id("The voice file that is played") }),
]);

export const MenuTrialResponse = Type.Object(
  {
    node: nullable(Type.String({ description: "Where the caller is" })),
    doing: Type.Enum(
      ["playing", "asking", "waiting", "recording", "transferring", "apologizing", "ended"],
      {
        type: "string",
        description:
          "playing: a prompt; asking: a prompt that a key interrupts; waiting: for a key; recording: a message; transferring: looks for an agent; apologizing: no agent is free",
      },
    ),
    prompts: Type.Array(Played, { description: "What is played now, in order" }),
    digits: Type.String({ description: "Entered so far" }),
    ended_reason: nullable(Type.String({ description: "As in a call record; null: not ended" })),
    path: Type.Array(
      Type.Object({
        node: Type.String(),
        key: nullable(
          Type.String({ description: "As in a call record; null: the node was reached" }),
        ),
      }),
    ),
    collected: mapOf(Type.String(), { description: "Captured digits" }),
    lead_fields: mapOf(Type.String(), {
      description: "Fields set on the caller's lead",
    }),
  },
  { title: "MenuTrialResult" },
);
type MenuTrialResponse = Static<typeof MenuTrialResponse>;

/** Returns where the caller of a valid menu is after the presses. */
export function previewMenu(
  { start, nodes, variables, presses }: MenuTrialInput,
  now: Date,
): MenuTrialResponse {
  const menu = menuOf(graphOf({ start, nodes }));
  let trial: MenuTrial = beginTrial(menu, variables ?? {}, now);
  for (const press of presses ?? [])
    trial = press === wait ? passTime(trial, now) : pressKey(trial, press, now);
  const { doing, prompts, ...view } = viewOf(trial);
  return {
    ...view,
    // The trial has no answering machine, no script and no AI agent.
    doing: doing as MenuTrialResponse["doing"],
    prompts: prompts.map((prompt) =>
      "say" in prompt ? prompt : { voice_file_id: Number(prompt.audio.name) },
    ),
    path: [...trial.path],
  };
}

/** As snapshotMenu, but an audio has the ID of its voice file for a name. */
function menuOf({ start, nodes }: ReturnType<typeof graphOf>): Menu {
  const named = Object.entries(nodes).map(([name, node]) => [name, nodeOf(node)]);
  return { start, nodes: Object.fromEntries(named) as Menu["nodes"] };
}

function nodeOf(node: GraphNode): MenuNode {
  return {
    ...node,
    ...("prompt" in node ? { prompt: promptOf(node.prompt) } : {}),
    ...("invalid_prompt" in node ? { invalid_prompt: promptOf(node.invalid_prompt) } : {}),
  } as MenuNode;
}

function promptOf(prompt: MenuPrompt | null): Prompt | null {
  if (prompt === null || "say" in prompt) return prompt;
  return { audio: { name: String(prompt.voice_file_id), duration_ms: 0 } };
}
