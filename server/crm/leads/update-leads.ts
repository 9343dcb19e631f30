// Changes status, priority, agent and collaborators of many leads in one transaction: all of them or none.
import Type, { type Static } from "typebox";
import { sql } from "kysely";
import { recordAudit, type UserActor } from "../../accounts/audit/record-audit.ts";
import { recordEvents } from "../../engine/record-event.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, notFound, type FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import { closed, id, nullable } from "../../lib/schemas.ts";
import { readWorkspaceSchema } from "../workspaces/workspace-schema.ts";
import { collaborators_max } from "./add-collaborator.ts";
import { changeCollaborators, countCollaborators } from "./internal/change-collaborators.ts";
import { leadUpdated } from "./internal/record-lead-change.ts";
import { lockWorkspace } from "./internal/lock-lead.ts";
import { describeLeads, leadResponseOf, selectLeads } from "./lead-record.ts";
import { validateLead } from "./validate-lead.ts";

const leads_max = 500;
const users_max = 20;
const statement_rows_max = 1_000;

const userIds = (description: string) =>
  Type.Optional(
    Type.Array(id("User id"), { minItems: 1, maxItems: users_max, uniqueItems: true, description }),
  );

/** The request body: the leads, and at least one change. */
export const LeadsPatch = closed(
  {
    ids: Type.Array(id("Lead id"), {
      minItems: 1,
      maxItems: leads_max,
      uniqueItems: true,
      description: "Leads of the workspace",
    }),
    statusId: Type.Optional(id("Picklist option")),
    priorityId: Type.Optional(id("Picklist option")),
    assignedAgentId: Type.Optional(nullable(id("User id of the agent; null unassigns"))),
    addCollaborators: userIds("Users to add; one who is a collaborator already stays"),
    removeCollaborators: userIds("Users to remove"),
  },
  {
    title: "LeadsPatch",
    description: "The same change for each of the leads",
    examples: [{ ids: [1, 2, 3], statusId: 2, assignedAgentId: 1 }],
  },
);
export type LeadsPatch = Static<typeof LeadsPatch>;

export const UpdatedLeads = Type.Object(
  {
    updated: Type.Integer({ description: "Leads that changed" }),
    unchanged: Type.Integer({ description: "Leads that already were as requested" }),
  },
  { title: "UpdatedLeads" },
);
export type UpdatedLeads = Static<typeof UpdatedLeads>;

const id_columns = [
  ["assignedAgentId", "assigned_agent_id"],
  ["statusId", "status_id"],
  ["priorityId", "priority_id"],
] as const;

/** Returns the violations that need no database: of a body of any shape. */
export function validateLeadsPatch(body: unknown): FieldError[] {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return [];
  const changes = Object.keys(LeadsPatch.properties).filter((field) => field !== "ids");
  if (changes.some((field) => Object.hasOwn(body, field))) return [];
  return [{ field: "body", reason: `must contain at least one of ${changes.join(", ")}` }];
}

/**
 * Changes the leads and records for each what a single change records: timeline, `lead.updated`. Throws not-found
 * (workspace) and validation-failed with every violation: options, users, and leads that the workspace does not
 * have or that would have too many collaborators.
 */
export async function updateLeads(
  tx: Tx,
  actor: UserActor,
  workspaceId: number,
  patch: LeadsPatch,
  now: Date,
): Promise<UpdatedLeads> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, workspaceId);
  const schema = await readWorkspaceSchema(tx, account_id, workspaceId);
  if (!schema) throw notFound();
  const leads = await lockLeads(tx, account_id, workspaceId, patch.ids);
  const found = new Set(leads.map((lead) => lead.id));
  const violations = [
    ...validateLead(schema, patch, "patch"),
    ...(await userViolations(tx, account_id, patch)),
    ...patch.ids.flatMap((lead, i) =>
      found.has(lead) ? [] : [{ field: `ids.${i}`, reason: "is not a lead of this workspace" }],
    ),
  ];
  if (violations.length > 0) throw invalid(violations);

  const fields = new Map(leads.map((lead) => [lead.id, idChanges(lead, patch)]));
  const fieldsChanged = [...fields].flatMap(([lead, changes]) =>
    changes.length > 0 ? [lead] : [],
  );
  const users = await changeCollaborators(tx, account_id, [...found], patch, now);
  await refuseTooMany(tx, account_id, patch);
  const changed = [...new Set([...fieldsChanged, ...users.map(({ lead_id }) => lead_id)])];
  if (changed.length > 0) await updateRows(tx, account_id, changed, patch, now);
  const entries = [
    ...fieldsChanged.map((lead_id) => ({
      lead_id,
      kind: "updated",
      data: { changes: fields.get(lead_id)! },
    })),
    ...users.map(({ lead_id, kind, user_id }) => ({ lead_id, kind, data: { userId: user_id } })),
  ];
  await addTimelineEntries(tx, { account_id, user_id: actor.user_id, at: now }, entries);
  const with_users = new Set(users.map(({ lead_id }) => lead_id));
  await recordUpdates(tx, { account_id, workspace_id: workspaceId }, changed, now, (lead) => [
    ...fields.get(lead)!.map(({ field }) => field),
    ...(with_users.has(lead) ? ["collaborators"] : []),
  ]);
  const { ids: _ids, ...detail } = patch;
  await recordAudit(tx, actor, {
    at: now,
    action: "leads.updated",
    subject_id: workspaceId,
    detail: { ...detail, leads: changed.length },
  });
  return { updated: changed.length, unchanged: patch.ids.length - changed.length };
}

/** Locks the leads in the order of their IDs, so that two changes of the same leads do not deadlock. */
function lockLeads(tx: Tx, accountId: number, workspaceId: number, ids: readonly number[]) {
  return tx
    .selectFrom("leads")
    .select(["id", "assigned_agent_id", "status_id", "priority_id"])
    .where("account_id", "=", accountId)
    .where("workspace_id", "=", workspaceId)
    .where("id", "=", sql<number>`any (${ids.map(knownId)}::bigint[])`)
    .orderBy("id")
    .forNoKeyUpdate()
    .execute();
}

/** An agent or collaborator must be active; a collaborator who is removed, only a user. */
async function userViolations(
  tx: Tx,
  accountId: number,
  { assignedAgentId, addCollaborators = [], removeCollaborators = [] }: LeadsPatch,
): Promise<FieldError[]> {
  const named = [
    ...(assignedAgentId == null ? [] : [{ field: "assignedAgentId", id: assignedAgentId }]),
    ...addCollaborators.map((user, i) => ({ field: `addCollaborators.${i}`, id: user })),
  ];
  const removed = removeCollaborators.map((user, i) => ({
    field: `removeCollaborators.${i}`,
    id: user,
  }));
  const ids = [...named, ...removed].map((each) => knownId(each.id));
  if (ids.length === 0) return [];
  const users = await tx
    .selectFrom("users")
    .select(["id", "active"])
    .where("account_id", "=", accountId)
    .where("id", "=", sql<number>`any (${ids}::bigint[])`)
    .execute();
  const active = new Map(users.map((user) => [user.id, user.active]));
  return [
    ...named.filter((each) => !active.get(each.id)),
    ...removed.filter((each) => !active.has(each.id)),
  ].map(({ field }) => ({ field, reason: "matches no known user" }));
}

type LockedLead = Awaited<ReturnType<typeof lockLeads>>[number];

function idChanges(lead: LockedLead, patch: LeadsPatch) {
  return id_columns.flatMap(([field, column]) => {
    const [from, to] = [lead[column], patch[field]];
    return to === undefined || to === from ? [] : [{ field, from, to }];
  });
}

async function refuseTooMany(tx: Tx, accountId: number, patch: LeadsPatch): Promise<void> {
  if (!patch.addCollaborators) return;
  const counts = await countCollaborators(tx, accountId, patch.ids);
  const violations = patch.ids.flatMap((lead, i) =>
    (counts.get(lead) ?? 0) > collaborators_max
      ? [{ field: `ids.${i}`, reason: `would have more than ${collaborators_max} collaborators` }]
      : [],
  );
  if (violations.length > 0) throw invalid(violations);
}

async function updateRows(
  tx: Tx,
  accountId: number,
  ids: readonly number[],
  patch: LeadsPatch,
  now: Date,
): Promise<void> {
  const given = id_columns.flatMap(([field, column]) =>
    patch[field] === undefined ? [] : [[column, patch[field]] as const],
  );
  await tx
    .updateTable("leads")
    .set({ updated_at: now, ...Object.fromEntries(given) })
    .where("account_id", "=", accountId)
    .where("id", "=", sql<number>`any (${ids}::bigint[])`)
    .execute();
}

async function addTimelineEntries(
  tx: Tx,
  by: { account_id: number; user_id: number; at: Date },
  entries: readonly { lead_id: number; kind: string; data: unknown }[],
): Promise<void> {
  for (let i = 0; i < entries.length; i += statement_rows_max) {
    const rows = entries
      .slice(i, i + statement_rows_max)
      .map(({ data, ...entry }) => ({ ...by, ...entry, data: JSON.stringify(data) }));
    await tx.insertInto("lead_timeline").values(rows).execute();
  }
}

async function recordUpdates(
  tx: Tx,
  of: { account_id: number; workspace_id: number },
  ids: readonly number[],
  now: Date,
  changedOf: (leadId: number) => readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  const selected = selectLeads(tx, of.account_id, of.workspace_id, ids);
  const rows = await describeLeads(tx, of.account_id, selected).orderBy("l.id").execute();
  await recordEvents(
    tx,
    rows.map((row) => leadUpdated(of.account_id, leadResponseOf(row), changedOf(row.id), now)),
  );
}
