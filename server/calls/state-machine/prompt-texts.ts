// The texts that a voice call plays, as far as they are known before the call.
import type { Menu, MenuNode, Prompt } from "./menu.ts";
import { fillText, placeholdersOf } from "./script-text.ts";
import type { VoiceContent } from "./voice-plan.ts";

type Text = Extract<Prompt, { readonly say: string }>;

/**
 * Returns the texts of the content with the recipient's variables filled in, without duplicates: those that are
 * played first come first. Omits blank texts and texts with digits that the caller enters during the call.
 */
export function promptTexts(
  content: VoiceContent,
  variables: Readonly<Record<string, string>>,
): { readonly text: string; readonly language: string }[] {
  const texts = new Map<string, { text: string; language: string }>();
  const captured = content.call_type === "obd_ivr" ? capturedBy(content.menu) : new Set<string>();
  for (const { say, language } of promptsOf(content)) {
    const { text, missing } = fillText(say, variables);
    if (text.trim() !== "" && !missing.some((name) => captured.has(name)))
      texts.set(`${language} ${text}`, { text, language });
  }
  return [...texts.values()];
}

/** Returns the texts of the content without variables, which are the same for every recipient. */
export function fixedTexts(
  content: VoiceContent,
): { readonly text: string; readonly language: string }[] {
  return promptsOf(content).flatMap(({ say, language }) =>
    say.trim() === "" || placeholdersOf(say).length > 0
      ? []
      : [{ text: fillText(say, {}).text, language }],
  );
}

function promptsOf(content: VoiceContent): Text[] {
  switch (content.call_type) {
    case "obd_voice_call":
      return [content.prompt].filter(isText);
    case "obd_ivr": {
      const { start, nodes } = content.menu;
      return [nodes[start]!, ...Object.values(nodes)].flatMap(promptsOfNode).filter(isText);
    }
    // A script is synthesized before its recipient is due; an AI agent has its own audio.
    case "obd_smartvoice":
    case "ai_bot":
      return [];
  }
}

function promptsOfNode(node: MenuNode): (Prompt | null)[] {
  return [
    "prompt" in node ? node.prompt : null,
    "invalid_prompt" in node ? node.invalid_prompt : null,
  ];
}

function isText(prompt: Prompt | null): prompt is Text {
  return prompt !== null && "say" in prompt;
}

function capturedBy({ nodes }: Menu): ReadonlySet<string> {
  const captures = Object.values(nodes).filter(({ type }) => type === "capture");
  return new Set(captures.map((node) => ("variable" in node ? node.variable : "")));
}
