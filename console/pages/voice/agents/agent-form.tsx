import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef, useState } from "react";
import type { FieldError } from "../../../../server/lib/errors.ts";
import { api, body } from "../../../api/client.ts";
import { ApiProblem } from "../../../api/problem.ts";
import { queryClient } from "../../../api/query-client.ts";
import type { AiAgent } from "../../../api/voice.ts";
import { Button } from "../../../ui/button.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { FormActions } from "../../../ui/form-actions.tsx";
import { TextAreaField } from "../../../ui/text-area-field.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import { toasts } from "../../../ui/toasts.tsx";
import { UnsavedChanges } from "../../../ui/unsaved-changes.tsx";
import { SpeechPreview } from "../content/speech-preview.tsx";
import { TalkPanel } from "./talk/talk-panel.tsx";
import { TransferFields } from "../menus/transfer-fields.tsx";
import {
  bodyOfAgent,
  default_limits,
  draftOfAgent,
  new_agent,
  type AgentDraft,
} from "./agent-draft.ts";
import { QuestionsFields } from "./questions-fields.tsx";
import { withRehearsal } from "./rehearsals/rehearsal-steps.ts";
import { RehearsalsPanel } from "./rehearsals/rehearsals-panel.tsx";
import { RulesFields } from "./rules-fields.tsx";

/** The draft of an agent, and what saves it. */
function useAgentForm(agent: AiAgent | null) {
  const navigate = useNavigate();
  const [draft, setDraft] = useState<AgentDraft>(() => (agent ? draftOfAgent(agent) : new_agent));
  const [saved, setSaved] = useState(draft);
  const [talkErrors, setTalkErrors] = useState<readonly FieldError[]>([]);
  const save = useMutation({
    onMutate: () => setTalkErrors([]),
    mutationFn: (sent: AgentDraft) =>
      body(
        agent
          ? api.PATCH("/api/v1/voice/agents/{id}", {
              params: { path: { id: agent.id } },
              body: bodyOfAgent(sent),
            })
          : api.POST("/api/v1/voice/agents", { body: bodyOfAgent(sent) }),
      ),
    onSuccess: async ({ id }, sent) => {
      setSaved(sent);
      toasts.add({ title: "Saved for campaigns launched from now on" });
      await queryClient.invalidateQueries({ queryKey: ["ai-agents"] });
      if (!agent) await navigate({ to: "/voice/agents/$id", params: { id }, ignoreBlocker: true });
    },
  });
  const saveErrors = save.error instanceof ApiProblem ? save.error.errors : [];
  const errors = [...saveErrors, ...talkErrors];
  return {
    draft,
    /** Also by what was changed while a save was under way. */
    isChanged: draft !== saved,
    change: (changed: Partial<AgentDraft>) => setDraft((old) => ({ ...old, ...changed })),
    save,
    errors,
    setTalkErrors,
    errorOf: (field: string) => errors.find((one) => one.field === field)?.reason,
  };
}

type Form = ReturnType<typeof useAgentForm>;

/** Everything that can be set of an AI agent. Null: a new one. */
export function AgentForm({ agent }: { readonly agent: AiAgent | null }) {
  const form = useAgentForm(agent);
  const { draft, change, save, errors, errorOf } = form;
  const element = useRef<HTMLFormElement>(null);
  useEffect(() => {
    element.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [errors.length]);
  return (
    <div className="grid grid-cols-1 items-start gap-6 xl:grid-cols-[minmax(0,1fr)_22rem]">
      <form
        ref={element}
        noValidate
        className="flex flex-col gap-6"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate(draft);
        }}
      >
        <Basics form={form} />
        {draft.driver === "realtime" ? (
          <Instructions form={form} />
        ) : (
          <Panel title="Answers">
            <RulesFields
              rules={draft.rules ?? []}
              errorOf={errorOf}
              onChange={(rules) => change({ rules })}
            />
          </Panel>
        )}
        <Panel title="Questions">
          <p className="text-muted">What it asks for; the answers are kept with the lead.</p>
          <QuestionsFields
            fields={draft.fields ?? []}
            errorOf={errorOf}
            onChange={(fields) => change({ fields })}
          />
        </Panel>
        <Panel title="Transfer to a person">
          <TransferFields
            name="transfer_to"
            to={draft.transfer_to}
            errorOf={errorOf}
            onChange={(transfer_to) => change({ transfer_to })}
          />
        </Panel>
        <Limits form={form} />
        {draft.driver !== "realtime" && (
          <RehearsalsPanel
            draft={draft}
            errorOf={errorOf}
            onChange={(rehearsals) => change({ rehearsals })}
          />
        )}
        {(errors.length === 0 || errorOf("name") === undefined) && <FormError error={save.error} />}
        <FormActions submit={() => save.mutateAsync(draft)} align="start">
          <Button kind="primary" type="submit" busy={save.isPending}>
            {agent ? "Save" : "Create agent"}
          </Button>
        </FormActions>
      </form>
      <Talk form={form} />
    </div>
  );
}

/** Beside the form, where there is room: an agent is tried while it is written. */
function Talk({ form: { draft, change, setTalkErrors } }: { readonly form: Form }) {
  return (
    <div className="xl:sticky xl:top-8">
      <TalkPanel
        draft={bodyOfAgent(draft)}
        onInvalid={setTalkErrors}
        onRehearse={(rehearsal) => {
          change({ rehearsals: withRehearsal(draft, rehearsal) });
          toasts.add({ title: "Kept as a rehearsal, to be saved with the agent" });
        }}
      />
    </div>
  );
}

function Basics({ form: { draft, change, isChanged, errorOf } }: { readonly form: Form }) {
  return (
    <Panel title="Agent">
      <UnsavedChanges isChanged={isChanged} />
      <div className="grid items-start gap-4 sm:grid-cols-2">
        <TextField
          label="Name"
          name="name"
          value={draft.name}
          error={errorOf("name")}
          onValueChange={(name) => change({ name })}
        />
        <SelectField
          label="How it talks"
          name="driver"
          options={[
            { value: "scripted", label: "By a script of answers" },
            { value: "realtime", label: "By instructions to a language model" },
          ]}
          value={draft.driver ?? "scripted"}
          error={errorOf("driver")}
          onChange={({ target }) =>
            change({ driver: target.value as NonNullable<AgentDraft["driver"]> })
          }
        />
        <TextField
          label="Language"
          name="language"
          value={draft.language ?? ""}
          error={errorOf("language")}
          hint="Such as en, hi or en-IN."
          onValueChange={(language) => change({ language })}
        />
      </div>
      <TextAreaField
        label="Greeting"
        name="greeting"
        rows={3}
        value={draft.greeting}
        error={errorOf("greeting")}
        hint="What it says first. {{name}} is the person's own value."
        onChange={({ target }) => change({ greeting: target.value })}
      />
      <SpeechPreview text={draft.greeting} language={draft.language ?? "en"} />
    </Panel>
  );
}

function Instructions({ form: { draft, change, errorOf } }: { readonly form: Form }) {
  return (
    <Panel title="Instructions">
      <TextAreaField
        label="Role and task"
        name="instructions"
        rows={8}
        value={draft.instructions ?? ""}
        error={errorOf("instructions")}
        onChange={({ target }) => change({ instructions: target.value || null })}
      />
      <div className="grid items-start gap-4 sm:grid-cols-2">
        {(["model", "voice"] as const).map((name) => (
          <TextField
            key={name}
            label={name === "model" ? "Model" : "Voice"}
            name={name}
            value={draft[name] ?? ""}
            placeholder="The server's own"
            error={errorOf(name)}
            onValueChange={(value) => change({ [name]: value || null })}
          />
        ))}
      </div>
    </Panel>
  );
}

function Limits({ form: { draft, change, errorOf } }: { readonly form: Form }) {
  const fields = [
    ["silence_seconds", "Seconds of silence that end it"],
    ["max_seconds", "Longest conversation in seconds"],
  ] as const;
  return (
    <Panel title="Limits">
      <div className="grid items-start gap-4 sm:grid-cols-2">
        {fields.map(([name, label]) => (
          <TextField
            key={name}
            label={label}
            name={name}
            type="number"
            placeholder={String(default_limits[name])}
            value={draft[name] ?? ""}
            error={errorOf(name)}
            onValueChange={(value) => change({ [name]: value === "" ? undefined : Number(value) })}
          />
        ))}
      </div>
    </Panel>
  );
}
