import { useQuery } from "@tanstack/react-query";
import { getRouteApi } from "@tanstack/react-router";
import type { Answer, Row } from "../../api/answer.ts";
import { changeLead } from "../../api/lead.ts";
import { agentsQuery, customFieldsQuery, picklistsQuery } from "../../api/leads.ts";
import { tenDigits } from "../../from-server.ts";
import { InlineSelect, InlineText } from "../../ui/inline-fields.tsx";
import type { Option } from "../../ui/option.ts";
import { Panel } from "../../ui/panel.tsx";
import { useMay } from "../../ui/permission.ts";
import { usePhoneFormats } from "../../ui/phone-formats.ts";
import { toasts } from "../../ui/toasts.tsx";
import { CustomField } from "./custom-field.tsx";
import { optionsOf } from "./lead-options.ts";

const shell = getRouteApi("/shell");

type Lead = Answer<"readLead">;

/** What is known about the lead; each field saves by itself. */
export function LeadDetails({ lead }: { readonly lead: Lead }) {
  const { id: leadId, workspaceId } = lead;
  const { country_code } = shell.useRouteContext().me.account;
  const { national } = usePhoneFormats();
  const { data: fields = [] } = useQuery(customFieldsQuery(workspaceId));
  const disabled = !useMay("crm.write");
  const save = async (patch: Parameters<typeof changeLead>[1]) => {
    await changeLead({ workspaceId, leadId }, patch);
    toasts.add({ title: "Saved" });
  };
  return (
    <Panel title="Details">
      <div className="grid grid-cols-1 gap-4 sm:grid-cols-2 lg:grid-cols-1">
        <InlineText
          label="Name"
          name="name"
          saved={lead.name}
          save={(name) => save({ name })}
          disabled={disabled}
        />
        <InlineText
          label="Phone"
          name="phone"
          type="tel"
          saved={lead.phone}
          save={(phone) => save({ phone: tenDigits(phone, country_code) ?? phone })}
          hint={national}
          disabled={disabled}
        />
        <InlineText
          label="Email"
          name="email"
          inputMode="email"
          saved={lead.email ?? ""}
          save={(email) => save({ email: email === "" ? null : email })}
          disabled={disabled}
        />
        <LeadChoices lead={lead} save={save} disabled={disabled} />
        {fields.map((field) => (
          <CustomField
            key={field.key}
            field={field}
            saved={lead.customFields[field.key] ?? null}
            save={(value) => save({ customFields: { [field.key]: value } })}
            disabled={disabled}
          />
        ))}
      </div>
    </Panel>
  );
}

function LeadChoices({
  lead,
  save,
  disabled,
}: {
  readonly lead: Lead;
  readonly save: (patch: Parameters<typeof changeLead>[1]) => Promise<unknown>;
  readonly disabled: boolean;
}) {
  const { data: picklists } = useQuery(picklistsQuery(lead.workspaceId));
  const { data: agents = [] } = useQuery(agentsQuery(lead.workspaceId));
  return (
    <>
      <InlineSelect
        label="Status"
        name="statusId"
        saved={lead.statusId}
        options={withOption(optionsOf(picklists?.status ?? []), lead.status)}
        save={(statusId) => save({ statusId: statusId! })}
        disabled={disabled}
      />
      <InlineSelect
        label="Priority"
        name="priorityId"
        saved={lead.priorityId}
        options={withOption(optionsOf(picklists?.priority ?? []), lead.priority)}
        save={(priorityId) => save({ priorityId: priorityId! })}
        disabled={disabled}
      />
      <InlineSelect
        label="Source"
        name="sourceId"
        none="No source"
        saved={lead.sourceId}
        options={withOption(optionsOf(picklists?.source ?? []), lead.source)}
        save={(sourceId) => save({ sourceId })}
        disabled={disabled}
      />
      <InlineSelect
        label="Assigned to"
        name="assignedAgentId"
        none="Nobody"
        saved={lead.assignedAgentId}
        options={agentOptions(agents, lead.assignedAgentId)}
        save={(assignedAgentId) => save({ assignedAgentId })}
        disabled={disabled}
      />
    </>
  );
}

/** Adds the lead's own option if it was archived, or while the others are loading. */
function withOption(
  options: readonly Option<number>[],
  own: { readonly id: number; readonly label: string } | null,
): readonly Option<number>[] {
  if (!own || options.some(({ value }) => value === own.id)) return options;
  return [...options, { value: own.id, label: own.label }];
}

function agentOptions(
  agents: readonly Row<"listAgents">[],
  assigned: number | null,
): readonly Option<number>[] {
  return agents
    .filter(({ id, active }) => active || id === assigned)
    .map(({ id, name }) => ({ value: id, label: name }));
}
