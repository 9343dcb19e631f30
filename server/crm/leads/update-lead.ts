// Changes the given fields of a lead under the rules of creation, and records what changed.
import type { Static } from "typebox";
import Type from "typebox";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, invalid, notFound } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { e164 } from "../../lib/phone-numbers.ts";
import { closed, id, mapOf, nullable, phone10 } from "../../lib/schemas.ts";
import { validateLead } from "./validate-lead.ts";
import type { LeadResponse } from "./lead-schema.ts";
import { lockLead, type LeadPlace } from "./internal/lock-lead.ts";
import { findLead } from "./find-lead.ts";
import { addTimelineEntry, recordLeadUpdate } from "./internal/record-lead-change.ts";
import { readWorkspaceSchema } from "../workspaces/workspace-schema.ts";

/** The request body of a change: null clears an optional field. */
export const LeadPatch = closed(
  {
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    email: Type.Optional(nullable(Type.String({ format: "email", maxLength: 254 }))),
    phone: Type.Optional(phone10("The lead's number; its contact stays linked")),
    assignedAgentId: Type.Optional(nullable(id("User id of the agent; null unassigns"))),
    statusId: Type.Optional(id("Picklist option")),
    sourceId: Type.Optional(nullable(id("Picklist option; null clears"))),
    priorityId: Type.Optional(id("Picklist option")),
    customFields: Type.Optional(
      mapOf(Type.Unknown(), {
        minProperties: 1,
        description: "Merged into the lead's; null clears a key",
      }),
    ),
  },
  {
    title: "LeadPatch",
    minProperties: 1,
    examples: [{ name: "Ada King", customFields: { campaign_note: "Call on Monday" } }],
  },
);
export type LeadPatch = Static<typeof LeadPatch>;
type LockedLead = Awaited<ReturnType<typeof lockLead>>;

/**
 * Returns the changed lead; a request that changes nothing records nothing. `by.user_id` is null for a change that no user
 * made. Throws not-found (workspace,
 * lead), validation-failed (options and custom fields), INVALID_AGENT.
 */
export async function updateLead(
  tx: Tx,
  place: LeadPlace,
  by: { user_id: number | null; country_code: string },
  patch: LeadPatch,
  now: Date,
): Promise<LeadResponse> {
  const lead = await lockLead(tx, place);
  const schema = await readWorkspaceSchema(tx, place.account_id, place.workspace_id);
  if (!schema) throw notFound();
  const violations = validateLead(
    schema,
    patch,
    "patch",
    lead.custom_fields as Record<string, unknown>,
  );
  if (violations.length > 0) throw invalid(violations);
  await requireAgent(tx, place.account_id, patch.assignedAgentId ?? null);

  const changes = changesOf(lead, patch);
  if (changes.length === 0) {
    return findLead(tx, place.account_id, place.workspace_id, place.lead_id);
  }
  await tx
    .updateTable("leads")
    .set(patchedRow(lead, patch, by.country_code))
    .where("account_id", "=", place.account_id)
    .where("id", "=", place.lead_id)
    .execute();
  await addTimelineEntry(tx, place, {
    kind: "updated",
    at: now,
    user_id: by.user_id,
    data: { changes },
  });
  return recordLeadUpdate(
    tx,
    place,
    changes.map(({ field }) => field),
    now,
  );
}

/** Returns every changeable column, so that all changes use one prepared statement. */
function patchedRow(lead: LockedLead, patch: LeadPatch, countryCode: string) {
  const kept = <T>(given: T | undefined, before: T): T => (given === undefined ? before : given);
  return {
    name: kept(patch.name, lead.name),
    email: kept(patch.email, lead.email),
    phone: kept(patch.phone, lead.phone),
    phone_e164: patch.phone === undefined ? lead.phone_e164 : e164(patch.phone, countryCode),
    assigned_agent_id: kept(patch.assignedAgentId, lead.assigned_agent_id),
    status_id: kept(patch.statusId, lead.status_id),
    source_id: kept(patch.sourceId, lead.source_id),
    priority_id: kept(patch.priorityId, lead.priority_id),
    custom_fields: JSON.stringify(merge(lead.custom_fields, patch.customFields)),
  };
}

async function requireAgent(tx: Tx, accountId: number, agentId: number | null): Promise<void> {
  if (agentId === null) return;
  const agent = await tx
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(agentId))
    .where("active", "=", true)
    .executeTakeFirst();
  if (!agent) throw new Refusal("INVALID_AGENT", "assignedAgentId matches no known user");
}

/** A changed field: IDs with their old and new value, free text by its name only. */
type Change = { field: string; from?: number | null; to?: number | null };

function changesOf(lead: LockedLead, patch: LeadPatch): Change[] {
  const changes: Change[] = [];
  for (const field of ["name", "email", "phone"] as const) {
    if (patch[field] !== undefined && patch[field] !== lead[field]) changes.push({ field });
  }
  const ids = [
    ["assignedAgentId", lead.assigned_agent_id],
    ["statusId", lead.status_id],
    ["sourceId", lead.source_id],
    ["priorityId", lead.priority_id],
  ] as const;
  for (const [field, from] of ids) {
    const to = patch[field];
    if (to !== undefined && to !== from) changes.push({ field, from, to });
  }
  const before = lead.custom_fields as Record<string, unknown>;
  for (const [key, value] of Object.entries(patch.customFields ?? {})) {
    const was = Object.hasOwn(before, key) ? before[key] : null;
    if (JSON.stringify(was) !== JSON.stringify(value)) {
      changes.push({ field: `customFields.${key}` });
    }
  }
  return changes;
}

function merge(before: unknown, given: Record<string, unknown> = {}): Record<string, unknown> {
  const merged = Object.entries({ ...(before as Record<string, unknown>), ...given });
  return Object.fromEntries(merged.filter(([, value]) => value !== null));
}
