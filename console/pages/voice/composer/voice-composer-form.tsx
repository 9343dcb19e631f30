import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { workspacesQuery } from "../../../api/leads.ts";
import { FormError } from "../../../ui/form-error.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { useMay } from "../../../ui/permission.ts";
import { usePhoneFormats } from "../../../ui/phone-formats.ts";
import { isSandbox } from "../../../ui/sandbox-note.tsx";
import { SandboxNumbers } from "../../../ui/sandbox-numbers.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import { zoneName } from "../../../ui/zone-name.ts";
import { AudienceFields } from "../../campaigns/audience-fields.tsx";
import { ContentFields } from "./content-fields.tsx";
import { errorOf, type VoiceComposer } from "./use-voice-composer.ts";

const shell = getRouteApi("/shell");
const fields: ReadonlySet<string> = new Set([
  "name",
  "call_type",
  "voice_file_id",
  "contacts",
  "file",
  "phone_column",
  "group_id",
  "scheduled_at",
  "max_retry",
  "retry_after",
  "crm_workspace_id",
  "callback_url",
]);

type Props = { readonly composer: VoiceComposer };

/** Content, recipients and time. Each violation that the dry run reports is shown at its field, the first focused. */
export function VoiceComposerForm({ composer }: Props) {
  const { draft, dryRun, errors, change } = composer;
  const { drivers } = shell.useRouteContext().me;
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [errors]);
  const isAtField = errors.some(({ field }) => fields.has(field.split(".")[0]!));
  return (
    <div ref={form} className="flex flex-col gap-6">
      <Panel title="Call">
        <TextField
          label="Campaign name"
          name="name"
          value={draft.name}
          error={errorOf(composer, "name")}
          hint="Only your team sees it."
          onValueChange={(name) => change({ name })}
        />
        <ContentFields composer={composer} />
      </Panel>
      <AudienceFields composer={composer} written={usePhoneFormats().national}>
        {isSandbox(drivers.voice) && <SandboxNumbers of="calls" />}
      </AudienceFields>
      <TimeFields composer={composer} />
      <MoreFields composer={composer} />
      {!isAtField && <FormError error={dryRun.error} />}
    </div>
  );
}

function TimeFields({ composer }: Props) {
  const { draft, change } = composer;
  const { time_zone } = shell.useRouteContext().me.account;
  return (
    <Panel title="Time and attempts">
      <TextField
        label="Begin"
        name="scheduled_at"
        type="datetime-local"
        value={draft.scheduled_at}
        error={errorOf(composer, "scheduled_at")}
        hint={`In the account's time zone (${zoneName(time_zone)}). Leave it empty to begin at once. The dry run says when people are called, by the clocks where they are.`}
        onValueChange={(scheduled_at) => change({ scheduled_at })}
      />
      <div className="grid gap-4 sm:grid-cols-2">
        <SelectField
          label="If busy or not answered"
          name="max_retry"
          placeholder="Do not call again"
          options={[
            { value: "1", label: "Call once more" },
            { value: "2", label: "Call up to 2 times more" },
            { value: "3", label: "Call up to 3 times more" },
          ]}
          value={draft.max_retry}
          error={errorOf(composer, "max_retry")}
          onChange={({ target }) => change({ max_retry: target.value })}
        />
        {draft.max_retry !== "" && (
          <TextField
            label="Minutes between attempts"
            name="retry_after"
            type="number"
            min={0}
            max={30}
            value={draft.retry_after}
            error={errorOf(composer, "retry_after")}
            onValueChange={(retry_after) => change({ retry_after })}
          />
        )}
      </div>
    </Panel>
  );
}

/** Where the outcomes of the calls go besides this console. */
function MoreFields({ composer }: Props) {
  const { draft, change } = composer;
  const mayReadLeads = useMay("crm.read");
  const { data: workspaces = [] } = useQuery({ ...workspacesQuery, enabled: mayReadLeads });
  const isNeeded = ["crm_workspace_id", "callback_url"].some((name) => errorOf(composer, name));
  return (
    <details
      open={isNeeded || undefined}
      className="border-line bg-panel rounded-xl border p-4 md:p-5"
    >
      <summary className="cursor-pointer font-semibold">
        Send outcomes to leads or another system
      </summary>
      <div className="mt-4 grid gap-4 sm:grid-cols-2">
        {mayReadLeads && (
          <SelectField
            label="Workspace of leads"
            name="crm_workspace_id"
            placeholder="None"
            options={workspaces.map(({ id, name }) => ({ value: id, label: name }))}
            value={draft.crm_workspace_id}
            error={errorOf(composer, "crm_workspace_id")}
            hint="Outcomes are written to the leads with these numbers."
            onChange={({ target }) => change({ crm_workspace_id: target.value })}
          />
        )}
        <TextField
          label="Callback URL"
          name="callback_url"
          type="url"
          placeholder="https://"
          value={draft.callback_url}
          error={errorOf(composer, "callback_url")}
          hint="Receives the events of this campaign's calls."
          onValueChange={(callback_url) => change({ callback_url })}
        />
      </div>
    </details>
  );
}
