import { useMutation } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api, body } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { upload } from "../../../api/upload.ts";
import { ApiProblem } from "../../../api/problem.ts";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { Page } from "../../../ui/page.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { ProgressBar } from "../../../ui/progress-bar.tsx";
import { FormActions } from "../../../ui/form-actions.tsx";
import { showFieldErrors } from "../../../ui/show-field-errors.ts";
import { TextField } from "../../../ui/text-field.tsx";
import { UnsavedChanges } from "../../../ui/unsaved-changes.tsx";
import { AudioSourceFields, type AudioSource } from "./audio-source.tsx";
import {
  CallFields,
  empty_settings,
  NameField,
  ScriptFields,
  setting_names,
  type SettingValues,
} from "./setting-fields.tsx";

/** The form's audio and settings, and what sends them. */
function useNewFile() {
  const navigate = useNavigate();
  const [source, setSource] = useState<AudioSource>({ kind: "upload", file: null });
  const [sent, setSent] = useState(0);
  const [formError, setFormError] = useState<Error | null>(null);
  const [sourceError, setSourceError] = useState<string>();
  const form = useForm<SettingValues>({
    defaultValues: empty_settings,
  });
  const create = useMutation({
    mutationFn: (values: SettingValues) => createFile(source, values, setSent),
    onMutate: () => {
      setFormError(null);
      setSourceError(undefined);
    },
    onSuccess: async ({ id }) => {
      await queryClient.invalidateQueries({ queryKey: ["voice-files"] });
      await navigate({ to: "/voice/files/$id", params: { id }, ignoreBlocker: true });
    },
    onError: (error) => {
      const errors = error instanceof ApiProblem ? error.errors : [];
      const of_source = errors.find(({ field }) => field === "file" || field === "text");
      setSourceError(of_source?.reason);
      const rest = showFieldErrors(error, setting_names, form.setError);
      setFormError(of_source ? null : rest);
    },
  });
  const choose = (changed: AudioSource) => {
    setSourceError(undefined);
    setSource(changed);
  };
  return { form, create, source, sourceError, choose, sent, formError };
}

/** Creates what campaigns play: from a file, the microphone or a text, with a script, a menu or an AI agent. */
export function NewFilePage() {
  const { form, create, source, sourceError, choose, sent, formError } = useNewFile();
  const { register, handleSubmit, watch } = form;
  const { errors, isDirty } = form.formState;
  const fields = { register, errors };
  return (
    <Page title="New content" text="One of audio, a script, a menu or an AI agent is enough.">
      <form
        className="flex max-w-3xl flex-col gap-6"
        noValidate
        onSubmit={(event) => void handleSubmit((values) => create.mutate(values))(event)}
      >
        <Panel title="Audio">
          <NameField {...fields} />
          <AudioSourceFields source={source} error={sourceError} onChange={choose} />
          <TextField
            label="Language"
            error={errors.language?.message}
            hint="Of texts that are synthesized, such as en, hi or en-IN."
            {...register("language")}
          />
        </Panel>
        <Panel title="Script for each person">
          <ScriptFields {...fields} script={watch("script")} language={watch("language")} />
        </Panel>
        <Panel title="Menu, AI agent and keys">
          <CallFields {...fields} />
        </Panel>
        <UnsavedChanges isChanged={isDirty || hasAudio(source)} />
        <FormError error={formError} />
        {create.isPending && "file" in source && (
          <ProgressBar label="Upload of the audio" percent={sent} />
        )}
        <FormActions submit={handleSubmit((values) => create.mutateAsync(values))} align="start">
          <Button kind="primary" type="submit" busy={create.isPending}>
            Create
          </Button>
          <Link to="/voice/files" className={buttonClass()}>
            Cancel
          </Link>
        </FormActions>
      </form>
    </Page>
  );
}

const hasAudio = (source: AudioSource) =>
  "file" in source ? source.file !== null : source.kind === "text" && source.text !== "";

/** What was not given is left out. */
function createFile(
  source: AudioSource,
  values: SettingValues,
  onProgress: (percent: number) => void,
) {
  const given = Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== ""),
  ) as Partial<SettingValues>;
  if ("file" in source && source.file)
    return upload("/api/v1/voice/files", { ...given, file: source.file }, { onProgress });
  const { name = "", menu_id, ai_agent_id, ...settings } = given;
  return body(
    api.POST("/api/v1/voice/files", {
      body: {
        ...settings,
        name,
        ...(menu_id ? { menu_id: Number(menu_id) } : {}),
        ...(ai_agent_id ? { ai_agent_id: Number(ai_agent_id) } : {}),
        ...(source.kind === "text" ? { text: source.text } : {}),
      },
    }),
  );
}
