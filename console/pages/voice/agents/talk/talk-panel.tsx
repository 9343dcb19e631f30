import { useState } from "react";
import type { FieldError } from "../../../../../server/lib/errors.ts";
import { placeholdersOf } from "../../../../from-server.ts";
import { Button } from "../../../../ui/button.tsx";
import { Keypad } from "../../../../ui/keypad.tsx";
import { Panel } from "../../../../ui/panel.tsx";
import { TextField } from "../../../../ui/text-field.tsx";
import { useTimeFormat } from "../../../../ui/time.tsx";
import type { AgentDraft } from "../agent-draft.ts";
import { stepsOfTalk, type Rehearsal } from "../rehearsals/rehearsal-steps.ts";
import { Transcript } from "./transcript.tsx";
import { useTalk, type TalkState } from "./use-talk.ts";

/** Talks to the AI agent of a draft, by voice, keys or typing, as a customer on a call does. */
export function TalkPanel({
  draft,
  onInvalid,
  onRehearse,
}: {
  readonly draft: AgentDraft;
  readonly onInvalid: (errors: readonly FieldError[]) => void;
  /** Keeps what the caller did as a rehearsal. */
  readonly onRehearse: (rehearsal: Omit<Rehearsal, "name">) => void;
}) {
  const [variables, setVariables] = useState<Record<string, string>>({});
  const { state, begin, send, hangUp } = useTalk(onInvalid);
  const isConnecting = state.status === "connecting";
  const isOpen = isConnecting || state.status === "talking";
  return (
    <Panel
      title="Talk to it"
      actions={
        state.status === "talking" ? (
          <Button onClick={hangUp}>Hang up</Button>
        ) : (
          <Button busy={isConnecting} onClick={() => void begin(draft, variables)}>
            {state.status === "ended" ? "Talk again" : "Start talking"}
          </Button>
        )
      }
    >
      <p className="text-muted">
        With the changes on this page, saved or not. Nobody is called, nothing is kept, and no
        credit is used.
      </p>
      {!isOpen &&
        variablesOf(draft).map((name) => (
          <TextField
            key={name}
            label={`Value of {{${name}}}`}
            name={`variable-${name}`}
            value={variables[name] ?? ""}
            onValueChange={(value) => setVariables((old) => ({ ...old, [name]: value }))}
          />
        ))}
      <p role="status">{statusOf(state)}</p>
      {state.said.length > 0 && (
        <div className="grid gap-4 md:grid-cols-[2fr_1fr] xl:grid-cols-1">
          <Transcript said={state.said} caller="You" label="Conversation" />
          <Outcome state={state} />
        </div>
      )}
      {state.status === "ended" && draft.driver !== "realtime" && state.said.length > 0 && (
        <Button
          className="self-start"
          onClick={() => onRehearse({ steps: stepsOfTalk(state.said), variables })}
        >
          Keep as a rehearsal
        </Button>
      )}
      {state.status === "talking" && (
        <div className="grid items-end gap-4 sm:grid-cols-[1fr_auto] xl:grid-cols-1">
          <TypeInstead onSay={(text) => send({ type: "text", text })} />
          <Keypad onPress={(key) => send({ type: "key", key })} />
        </div>
      )}
    </Panel>
  );
}

function statusOf({ status, hasMicrophone, end }: TalkState): string {
  switch (status) {
    case "idle":
      return "";
    case "connecting":
      return "Connecting…";
    case "talking":
      return hasMicrophone
        ? "Speak, press a key, or type."
        : "The browser gives no microphone. Press keys or type instead.";
    case "ended":
      return end ?? "The conversation is over.";
  }
}

/** The variables of all texts, each once. */
function variablesOf({ greeting, instructions, fallback, closing, rules, fields }: AgentDraft) {
  const texts = [
    greeting,
    instructions,
    fallback,
    closing,
    ...(rules ?? []).flatMap(({ say, set }) => [say, set?.value]),
    ...(fields ?? []).map(({ question }) => question),
  ];
  return [...new Set(texts.flatMap((text) => placeholdersOf(text ?? "").map(({ name }) => name)))];
}

/** What a call would have done. */
function Outcome({ state: { fields, tools } }: { readonly state: TalkState }) {
  const kept = Object.entries(fields);
  const timeOf = useTimeFormat();
  return (
    <section aria-label="What a call would do" className="flex flex-col gap-2">
      <h3 className="font-medium">What a call would do</h3>
      {kept.length === 0 && tools.length === 0 && <p className="text-muted">Nothing yet.</p>}
      {kept.length > 0 && (
        <dl className="grid grid-cols-[auto_1fr] gap-x-3">
          {kept.map(([key, value]) => (
            <div key={key} className="col-span-2 grid grid-cols-subgrid">
              <dt className="text-muted">{key}</dt>
              <dd className="break-words">{value}</dd>
            </div>
          ))}
        </dl>
      )}
      <ul>
        {tools.map((tool, at) => (
          <li key={at}>{wordsOf(tool, timeOf)}</li>
        ))}
      </ul>
    </section>
  );
}

function wordsOf(tool: TalkState["tools"][number], timeOf: (at: string) => string): string {
  switch (tool.name) {
    case "end_call":
      return "It ends the call.";
    case "transfer_to_agent":
      return "It transfers the caller to a person.";
    case "opt_out":
      return "It suppresses the number for calls.";
    case "schedule_callback":
      return `It calls back at ${timeOf(tool.at)}.`;
  }
}

function TypeInstead({ onSay }: { readonly onSay: (text: string) => void }) {
  const [text, setText] = useState("");
  return (
    <form
      className="flex items-end gap-2"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") onSay(text.trim());
        setText("");
      }}
    >
      <div className="grow">
        <TextField
          label="Type what the caller says"
          name="typed"
          value={text}
          onValueChange={setText}
        />
      </div>
      <Button type="submit">Say</Button>
    </form>
  );
}
