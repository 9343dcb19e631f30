// What a caller does in a rehearsal, as lines: "press 411#", "wait 5", and anything else is said.
import type { AgentDraft } from "../agent-draft.ts";
import type { TalkState } from "../talk/use-talk.ts";

export type Rehearsal = NonNullable<AgentDraft["rehearsals"]>[number];
type Step = Rehearsal["steps"][number];

/** The rehearsals of a draft and another one. */
export function withRehearsal(
  { rehearsals }: AgentDraft,
  rehearsal: Omit<Rehearsal, "name">,
): Rehearsal[] {
  const others = rehearsals ?? [];
  return [...others, { name: `Rehearsal ${others.length + 1}`, ...rehearsal }];
}

/** One step a line, as it is typed: an empty line and blanks around words are kept. */
export function stepsOfLines(lines: string): Step[] {
  return lines.split("\n").map((line) => {
    const press = /^press ([0-9*#]+)$/i.exec(line)?.[1];
    if (press) return { press };
    const wait = /^wait (\d+)$/i.exec(line)?.[1];
    return wait ? { wait_seconds: Number(wait) } : { say: line };
  });
}

/** The steps without empty lines. */
export function finished({ steps, ...rehearsal }: Rehearsal): Rehearsal {
  const lines = linesOfSteps(steps).split("\n");
  const whole = lines.map((line) => line.trim()).filter((line) => line !== "");
  return { ...rehearsal, steps: whole.length === 0 ? [] : stepsOfLines(whole.join("\n")) };
}

export function linesOfSteps(steps: readonly Step[]): string {
  return steps.map(lineOf).join("\n");
}

function lineOf({ press, say, wait_seconds }: Step): string {
  if (press) return `press ${press}`;
  return wait_seconds ? `wait ${wait_seconds}` : (say ?? "");
}

/** What the caller of a talk did: keys that follow each other are one step. */
export function stepsOfTalk(said: TalkState["said"]): Step[] {
  const steps: Step[] = [];
  let keys: string | null = null;
  for (const { who, text } of said) {
    const key = who === "caller" ? /^pressed ([0-9*#])$/.exec(text)?.[1] : undefined;
    if (key) {
      if (keys === null) steps.push({});
      keys = (keys ?? "") + key;
      steps[steps.length - 1] = { press: keys };
    } else {
      keys = null;
      if (who === "caller") steps.push({ say: text });
    }
  }
  return steps;
}
