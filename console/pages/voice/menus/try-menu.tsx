import type { Answer } from "../../../api/answer.ts";
import { Button } from "../../../ui/button.tsx";
import { Keypad } from "../../../ui/keypad.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import { SayPrompt } from "./say-prompt.tsx";

export type Trial = Answer<"previewVoiceMenu">;

const doing: Readonly<Record<Trial["doing"], string>> = {
  playing: "The caller listens.",
  asking: "The caller listens and may press a key at once.",
  waiting: "The caller may press a key.",
  recording: "The caller leaves a message; # ends it.",
  transferring: "Agents are rung.",
  apologizing: "No agent is free.",
  ended: "The call is over.",
};

const waits: Readonly<Record<Trial["doing"], string>> = {
  playing: "Skip ahead",
  asking: "Press no key",
  waiting: "Press no key",
  recording: "Message left",
  transferring: "No agent answers",
  apologizing: "Time passes",
  ended: "",
};

const endings: Readonly<Record<string, string>> = {
  menu_ended: "The menu hung up.",
  opted_out: "The caller opted out.",
  callback_requested: "The caller is called back.",
  transfer_not_answered: "No agent answered.",
  too_long: "The menu went on for too long.",
};

/** Plays the menu on the page: what is said, keys to press, and what came of them. */
export function TryMenu({
  trial,
  presses,
  names,
  variables,
  onPress,
  onVariable,
  onRestart,
}: {
  /** Null while the menu has errors; undefined before the first answer. */
  readonly trial: Trial | null | undefined;
  readonly presses: readonly string[];
  /** The variables of the menu's texts. */
  readonly names: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly onPress: (press: string) => void;
  readonly onVariable: (name: string, value: string) => void;
  readonly onRestart: () => void;
}) {
  const isOver = !trial || trial.doing === "ended";
  return (
    <Panel
      title="Try it"
      actions={
        <Button disabled={presses.length === 0} onClick={onRestart}>
          Start over
        </Button>
      }
    >
      {names.map((name) => (
        <TextField
          key={name}
          label={`Value of {{${name}}}`}
          name={`variable-${name}`}
          value={variables[name] ?? ""}
          onValueChange={(value) => onVariable(name, value)}
        />
      ))}
      {trial === null && <p className="text-muted">Complete the steps to try the menu.</p>}
      {/* Above the texts, whose length changes: a key must not move away under the pointer. */}
      <Keypad disabled={isOver} onPress={onPress} />
      {!isOver && <Button onClick={() => onPress("wait")}>{waits[trial.doing]}</Button>}
      {trial && <Place trial={trial} step={presses.length} />}
      {trial && <Path trial={trial} />}
    </Panel>
  );
}

/** Where the caller is, and what is played. */
function Place({ trial, step }: { readonly trial: Trial; readonly step: number }) {
  const { node, ended_reason, prompts, digits, path } = trial;
  const askedAgain = describeAskedAgain(path.at(-1)?.key ?? null);
  return (
    <div role="status" className="flex flex-col gap-2">
      <p className="text-muted">
        {node !== null && <strong className="text-ink">{node}</strong>}{" "}
        {ended_reason === null ? doing[trial.doing] : (endings[ended_reason] ?? ended_reason)}
      </p>
      {prompts.map((prompt, at) => (
        <SayPrompt key={`${step} ${at}`} prompt={prompt} />
      ))}
      {askedAgain !== null && <p>{askedAgain}</p>}
      {digits !== "" && <p>Entered so far: {digits}</p>}
    </div>
  );
}

/** Says why a step asks again; null if the last key led on. */
function describeAskedAgain(key: string | null): string | null {
  if (key === null) return null;
  if (key === "timeout") return "No key was pressed, so it asks again.";
  if (key === "invalid") return "Too few digits were entered, so it asks again.";
  return `${key} is not a choice here, so it asks again.`;
}

function Path({ trial: { path, collected, lead_fields } }: { readonly trial: Trial }) {
  const kept = Object.entries({ ...collected, ...lead_fields });
  return (
    <details>
      <summary className="text-muted cursor-pointer">Steps so far</summary>
      <ol aria-label="Steps so far" className="mt-2 flex flex-col gap-1 text-xs">
        {path.map(({ node, key }, at) => (
          <li key={at}>{key === null ? node : `${node}: ${key}`}</li>
        ))}
      </ol>
      {kept.map(([name, value]) => (
        <p key={name} className="text-xs">
          {name}: {value}
        </p>
      ))}
    </details>
  );
}
