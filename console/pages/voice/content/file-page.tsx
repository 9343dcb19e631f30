import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { useForm } from "react-hook-form";
import { api } from "../../../api/client.ts";
import { queryClient } from "../../../api/query-client.ts";
import { campaignsOfFileQuery, voiceFileQuery, type VoiceFile } from "../../../api/voice.ts";
import { Button, buttonClass } from "../../../ui/button.tsx";
import { ConfirmDialog } from "../../../ui/confirm-dialog.tsx";
import { Missing } from "../../../ui/missing.tsx";
import { FormError } from "../../../ui/form-error.tsx";
import { changedParts } from "../../../ui/form-fields.tsx";
import { Page } from "../../../ui/page.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { useMay } from "../../../ui/permission.ts";
import { FormActions } from "../../../ui/form-actions.tsx";
import { showFieldErrors } from "../../../ui/show-field-errors.ts";
import { toasts } from "../../../ui/toasts.tsx";
import { UnsavedChanges } from "../../../ui/unsaved-changes.tsx";
import { VoiceStatusBadge } from "../voice-badges.tsx";
import { FileStatus } from "./file-status.tsx";
import { kindOfCall } from "./file-words.ts";
import {
  CallFields,
  NameField,
  ScriptFields,
  setting_names,
  type SettingValues,
} from "./setting-fields.tsx";
import { Waveform } from "./waveform.tsx";

const route = getRouteApi("/shell/voice/files/$id");

/** One voice file: its audio, its settings, and where it is used. */
export function FilePage() {
  const { id } = route.useParams();
  const { data: file, error } = useQuery(voiceFileQuery(id));
  return (
    <Page
      title={
        file ? (
          <span className="flex flex-wrap items-center gap-3 wrap-anywhere">
            {file.name} <FileStatus file={file} />
          </span>
        ) : (
          "Content"
        )
      }
      actions={file && <FileActions file={file} />}
    >
      {file ? (
        <Content key={id} file={file} />
      ) : (
        <Missing error={error} what="content">
          <Link to="/voice/files" className="text-accent underline">
            All audio and scripts
          </Link>
        </Missing>
      )}
    </Page>
  );
}

function FileActions({ file }: { readonly file: VoiceFile }) {
  const { id, name, active, status } = file;
  const navigate = useNavigate();
  const mayManage = useMay("voice.content.manage");
  const mayCall = useMay("voice.campaigns.create");
  if (!active) return null;
  return (
    <>
      {mayManage && (
        <ConfirmDialog
          title={`Archive ${name}?`}
          text="New campaigns cannot use it any more. Campaigns that use it continue."
          action="Archive"
          trigger={<Button>Archive</Button>}
          act={async () => {
            await api.DELETE("/api/v1/voice/files/{id}", { params: { path: { id } } });
            await queryClient.invalidateQueries({ queryKey: ["voice-files"] });
            await navigate({ to: "/voice/files", ignoreBlocker: true });
          }}
        />
      )}
      {mayCall && status === "ready" && (
        <Link
          to="/voice/campaigns/new"
          search={{ file: id, kind: kindOfCall(file) }}
          className={buttonClass("primary")}
        >
          Use in a campaign
        </Link>
      )}
    </>
  );
}

function Content({ file }: { readonly file: VoiceFile }) {
  const { id, status, reason, duration_ms, text, active } = file;
  const mayManage = useMay("voice.content.manage");
  return (
    <div className="grid items-start gap-6 lg:grid-cols-[1fr_22rem]">
      <div className="flex min-w-0 flex-col gap-6">
        {status === "rejected" && (
          <p className="bg-danger-soft rounded-xl p-4">
            <span className="text-danger block font-medium">The audio cannot be used</span>
            {reason} Create it again from another file.
          </p>
        )}
        {duration_ms !== null && (
          <Panel title="Audio">
            <Waveform label={`Audio of ${file.name}`} src={`/api/v1/voice/files/${id}/audio`} />
            {text !== null && <p className="text-muted wrap-anywhere">“{text}”</p>}
          </Panel>
        )}
        {mayManage && active && <Settings file={file} />}
      </div>
      <UsedIn id={id} />
    </div>
  );
}

function Settings({ file }: { readonly file: VoiceFile }) {
  const { id } = file;
  const [formError, setFormError] = useState<Error | null>(null);
  const { register, handleSubmit, setError, watch, reset, formState } = useForm<SettingValues>({
    defaultValues: {
      name: file.name,
      script: file.script ?? "",
      menu_id: String(file.menu_id ?? ""),
      ai_agent_id: String(file.ai_agent_id ?? ""),
      opt_out_key: file.opt_out_key ?? "",
      answering_machine: file.answering_machine,
    },
  });
  const { errors, defaultValues } = formState;
  const save = useMutation({
    mutationFn: async (values: SettingValues) => {
      const changed = changedParts(jsonOf(defaultValues as SettingValues), jsonOf(values));
      if (Object.keys(changed).length === 0) return;
      await api.PATCH("/api/v1/voice/files/{id}", { params: { path: { id } }, body: changed });
      reset(values, { keepValues: true });
      await queryClient.invalidateQueries({ queryKey: ["voice-files"] });
    },
    onMutate: () => setFormError(null),
    onSuccess: () => toasts.add({ title: "Saved for campaigns launched from now on" }),
    onError: (error) => setFormError(showFieldErrors(error, setting_names, setError)),
  });
  const fields = { register, errors };
  return (
    <form
      noValidate
      className="flex flex-col gap-6"
      onSubmit={(event) => void handleSubmit((values) => save.mutate(values))(event)}
    >
      <Panel title="Script for each person">
        <ScriptFields {...fields} script={watch("script")} language={file.language} />
      </Panel>
      <Panel title="Settings">
        <NameField {...fields} />
        <CallFields {...fields} />
        <p className="text-muted text-xs">
          Campaigns use them as they are at launch; changes apply to later ones.
        </p>
        <UnsavedChanges isChanged={formState.isDirty} />
        <FormError error={formError} />
        <FormActions submit={handleSubmit((values) => save.mutateAsync(values))} align="start">
          <Button kind="primary" type="submit" busy={save.isPending}>
            Save
          </Button>
        </FormActions>
      </Panel>
    </form>
  );
}

const jsonOf = (values: SettingValues) => ({
  name: values.name,
  script: values.script || null,
  menu_id: values.menu_id ? Number(values.menu_id) : null,
  ai_agent_id: values.ai_agent_id ? Number(values.ai_agent_id) : null,
  opt_out_key: values.opt_out_key || null,
  answering_machine: values.answering_machine,
});

function UsedIn({ id }: { readonly id: number }) {
  const read = useMay("voice.campaigns.read");
  const manage = useMay("voice.campaigns.manage");
  const may = read || manage;
  const { data: campaigns = [] } = useQuery({ ...campaignsOfFileQuery(id), enabled: may });
  if (!may) return null;
  return (
    <Panel title="Used in">
      {campaigns.length === 0 ? (
        <p className="text-muted">No campaign yet.</p>
      ) : (
        <ul className="divide-line -my-2 flex flex-col divide-y">
          {campaigns.map(({ campaign_id, name, status }) => (
            <li key={campaign_id} className="flex items-center justify-between gap-3 py-2">
              <Link
                to="/voice/campaigns/$id"
                params={{ id: campaign_id }}
                className="min-w-0 wrap-anywhere hover:underline"
              >
                {name}
              </Link>
              <VoiceStatusBadge status={status} />
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
