import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import { useEffect, useRef } from "react";
import { numbersQuery } from "../../../api/chat.ts";
import { FormError } from "../../../ui/form-error.tsx";
import { Panel } from "../../../ui/panel.tsx";
import { usePhoneFormats } from "../../../ui/phone-formats.ts";
import { isSandbox } from "../../../ui/sandbox-note.tsx";
import { SandboxNumbers } from "../../../ui/sandbox-numbers.tsx";
import { SelectField } from "../../../ui/select-field.tsx";
import { TextField } from "../../../ui/text-field.tsx";
import { zoneName } from "../../../ui/zone-name.ts";
import { AudienceFields } from "../../campaigns/audience-fields.tsx";
import type { Composer } from "./use-composer.ts";

const shell = getRouteApi("/shell");
const fields = [
  "name",
  "chat_number_id",
  "template_id",
  "contacts",
  "file",
  "phone_column",
  "variables",
  "group_id",
  "scheduled_at",
] as const;

/** Message, recipients and time. Each violation that the dry run reports is shown at its field, the first focused. */
export function ComposerForm({ composer }: { readonly composer: Composer }) {
  const { draft, dryRun, errors, change } = composer;
  const { account, drivers } = shell.useRouteContext().me;
  const form = useRef<HTMLDivElement>(null);
  useEffect(() => {
    form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [errors]);
  const errorOf = (name: string) => errors.find(({ field }) => field === name)?.reason;
  const isAtField = errors.some(({ field }) => fields.some((name) => field.split(".")[0] === name));
  return (
    <div ref={form} className="flex flex-col gap-6">
      <Panel title="Message">
        <TextField
          label="Campaign name"
          name="name"
          value={draft.name}
          error={errorOf("name")}
          hint="Only your team sees it."
          onValueChange={(name) => change({ name })}
        />
        <Sender composer={composer} error={errorOf("chat_number_id")} />
        <TemplateField composer={composer} error={errorOf("template_id")} />
      </Panel>
      <AudienceFields composer={composer} written={usePhoneFormats().any}>
        {isSandbox(drivers.chat) && <SandboxNumbers of="messages" />}
      </AudienceFields>
      <Panel title="Time">
        <TextField
          label="Begin"
          name="scheduled_at"
          type="datetime-local"
          value={draft.scheduled_at}
          error={errorOf("scheduled_at")}
          hint={`In the account's time zone (${zoneName(account.time_zone)}). Leave it empty to begin at once.`}
          onValueChange={(scheduled_at) => change({ scheduled_at })}
        />
      </Panel>
      {!isAtField && <FormError error={dryRun.error} />}
    </div>
  );
}

type FieldProps = { readonly composer: Composer; readonly error: string | undefined };

/** The only number needs no choice. */
function Sender({ composer: { draft, change }, error }: FieldProps) {
  const { data: numbers } = useQuery(numbersQuery);
  const active = numbers?.filter(({ active: is_active }) => is_active) ?? [];
  const only = active.length === 1 ? String(active[0]!.id) : null;
  useEffect(() => {
    if (only !== null && draft.chat_number_id === "") change({ chat_number_id: only });
  }, [only, draft.chat_number_id]);
  return (
    <SelectField
      label="Send from"
      name="chat_number_id"
      placeholder="Choose a number"
      options={active.map(({ id, name, phone_number }) => ({
        value: id,
        label: `${name} (+${phone_number})`,
      }))}
      value={draft.chat_number_id}
      error={error}
      hint={numbers && active.length === 0 && "The account has no active number."}
      onChange={({ target }) => change({ chat_number_id: target.value })}
    />
  );
}

function TemplateField({ composer: { draft, templates, change }, error }: FieldProps) {
  const usable = templates.filter(
    ({ status, unsupported }) => status === "APPROVED" && unsupported === null,
  );
  return (
    <SelectField
      label="Template"
      name="template_id"
      placeholder="Choose a template"
      options={usable.map(({ id, name, language }) => ({
        value: id,
        label: `${name} (${language})`,
      }))}
      value={draft.template_id}
      error={error}
      hint="Those that WhatsApp has approved."
      onChange={({ target }) => change({ template_id: target.value, mapping: {} })}
    />
  );
}
