// Builds the rows that create_leads takes, for the API and the import.
import { knownId } from "../../lib/ids.ts";
import { e164 } from "../../lib/phone-numbers.ts";
import type { LeadRow } from "./lead-intake.ts";
import type { NewLead } from "./lead-schema.ts";
import type { WorkspaceSchema } from "../workspaces/workspace-schema.ts";

/** Returns the row of a lead that was validated against `schema`, with defaults, and null for omitted values. */
export function leadRow(
  schema: WorkspaceSchema,
  creator: { readonly user_id: number; readonly country_code: string },
  lead: NewLead,
): LeadRow {
  return {
    workspace_id: schema.workspace_id,
    schema_version: schema.version,
    name: lead.name || "Untitled",
    email: lead.email ?? null,
    phone: lead.phone,
    phone_e164: e164(lead.phone, creator.country_code),
    assigned_agent_id: orNull(lead.assignedAgentId),
    contact_id: orNull(lead.contactId),
    status_id: lead.statusId ?? schema.default_status.id,
    source_id: lead.sourceId ?? null,
    priority_id: lead.priorityId ?? schema.default_priority.id,
    custom_fields: withoutNulls(lead.customFields ?? {}),
    created_by: creator.user_id,
  };
}

function orNull(id: number | null | undefined): number | null {
  return id === null || id === undefined ? null : knownId(id);
}

function withoutNulls(values: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== null));
}
