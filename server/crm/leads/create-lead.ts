// Creates a lead with its contact, timeline entry and event (contract 4.1). Every request creates a lead;
// the contact is found or created by phone unless contactId is given.
import type { Caller } from "../../accounts/caller.ts";
import { Refusal, invalid, notFound, unavailable } from "../../lib/errors.ts";
import { validateLead } from "./validate-lead.ts";
import type { LeadRow, LeadVerdict } from "./lead-intake.ts";
import { leadRow } from "./lead-row.ts";
import type { LeadResponse, NewLead } from "./lead-schema.ts";
import type {
  PicklistOption,
  WorkspaceSchema,
  WorkspaceSchemas,
} from "../workspaces/workspace-schema.ts";

/** Writes one lead, batched with others or in a transaction. */
export type WriteLead = (accountId: number, lead: LeadRow) => Promise<LeadVerdict>;

/** How often a lead is validated again because its workspace's schema changed meanwhile. */
const attempts_max = 5;

/**
 * Returns the created lead. Throws not-found (workspace), validation-failed (options and custom fields),
 * INVALID_AGENT, INVALID_CONTACT; unavailable if the database is unreachable.
 */
export async function createLead(
  schemas: WorkspaceSchemas,
  write: WriteLead,
  caller: Caller,
  workspaceId: number,
  lead: NewLead,
): Promise<LeadResponse> {
  let schema = await schemas.find(caller.account.id, workspaceId);
  for (let attempt = 1; attempt <= attempts_max; attempt++) {
    if (!schema) throw notFound();
    const violations = validateLead(schema, lead);
    // The first validation may have used a copy older than the option or field that it misses.
    if (violations.length > 0 && attempt > 1) throw invalid(violations);
    if (violations.length > 0) {
      schema = await schemas.refresh(caller.account.id, workspaceId);
      continue;
    }
    const row = leadRow(
      schema,
      { user_id: caller.user_id, country_code: caller.account.country_code },
      lead,
    );
    const verdict = await write(caller.account.id, row);
    if (verdict.verdict === "created") return leadResponse(schema, row, verdict);
    if (verdict.verdict !== "retry") throw refusalOf(verdict.verdict);
    schema = await schemas.refresh(caller.account.id, workspaceId);
  }
  throw unavailable(new Error("the workspace's schema kept changing"));
}

function refusalOf(verdict: "not-found" | "INVALID_AGENT" | "INVALID_CONTACT"): Refusal {
  switch (verdict) {
    case "not-found":
      return notFound();
    case "INVALID_AGENT":
      return new Refusal("INVALID_AGENT", "assignedAgentId matches no known user");
    case "INVALID_CONTACT":
      return new Refusal("INVALID_CONTACT", "contactId matches no contact in this workspace");
  }
}

function leadResponse(schema: WorkspaceSchema, row: LeadRow, verdict: LeadVerdict): LeadResponse {
  const contactId = verdict.contact_id!;
  const createdAt = verdict.created_at.toISOString();
  return {
    id: verdict.lead_id!,
    workspaceId: row.workspace_id,
    name: row.name,
    email: row.email,
    phone: row.phone,
    assignedAgentId: row.assigned_agent_id,
    contactId,
    statusId: row.status_id,
    sourceId: row.source_id,
    priorityId: row.priority_id,
    customFields: row.custom_fields,
    createdBy: row.created_by,
    createdAt,
    updatedAt: createdAt,
    status: optionResponse(schema, row.status_id),
    source: row.source_id === null ? null : optionResponse(schema, row.source_id),
    priority: optionResponse(schema, row.priority_id),
    contact: { id: contactId, name: verdict.contact_name!, phone: verdict.contact_phone! },
    collaborators: [],
  };
}

/** Returns an option as the contract shows it. An option is not deleted while a lead uses it. */
function optionResponse(
  schema: WorkspaceSchema,
  id: number,
): Pick<PicklistOption, "id" | "value" | "label" | "color"> {
  const option = schema.options.get(id);
  if (!option) throw new Error(`option ${id} is not in workspace ${schema.workspace_id}`);
  return { id, value: option.value, label: option.label, color: option.color };
}
