// Reads a lead with its options, contact and collaborators in one query, so that a response never depends
// on the process's copy of the workspace's schema.
import { sql, type Kysely } from "kysely";
import { jsonArrayFrom } from "kysely/helpers/postgres";
import type { DB } from "../../lib/database/database.ts";
import type { LeadResponse } from "./lead-schema.ts";

/**
 * Selects leads of one workspace; the caller adds conditions, and describeLeads everything in a response. `ids` are read
 * by their key alone, however promising an index of the conditions looks: OFFSET keeps these out of the subquery.
 */
export function selectLeads(
  db: Kysely<DB>,
  accountId: number,
  workspaceId: number,
  ids?: readonly number[],
) {
  const leads = db.selectFrom("leads").selectAll().where("account_id", "=", accountId);
  const read = ids
    ? leads.where(sql<boolean>`id = any(${ids}::bigint[])`).offset(sql.lit(0))
    : leads;
  return db
    .selectFrom(read.as("l"))
    .where("l.account_id", "=", accountId)
    .where("l.workspace_id", "=", workspaceId)
    .selectAll("l");
}

/**
 * Adds options, contacts and collaborators to selected leads. Joins them to the selected rows only: joined before
 * the limit, the first page of 5 million leads took 7 s. Names the account in each join: by its rows, Citus would ask
 * every shard.
 */
export function describeLeads(
  db: Kysely<DB>,
  accountId: number,
  selected: ReturnType<typeof selectLeads>,
) {
  return db
    .selectFrom(selected.as("l"))
    .innerJoin("contacts as c", (join) =>
      join.on("c.account_id", "=", accountId).onRef("c.id", "=", "l.contact_id"),
    )
    .innerJoin("picklist_options as status", (join) =>
      join.on("status.account_id", "=", accountId).onRef("status.id", "=", "l.status_id"),
    )
    .leftJoin("picklist_options as source", (join) =>
      join.on("source.account_id", "=", accountId).onRef("source.id", "=", "l.source_id"),
    )
    .innerJoin("picklist_options as priority", (join) =>
      join.on("priority.account_id", "=", accountId).onRef("priority.id", "=", "l.priority_id"),
    )
    .selectAll("l")
    .select((eb) => [
      "c.name as contact_name",
      "c.phone as contact_phone",
      "status.value as status_value",
      "status.label as status_label",
      "status.color as status_color",
      "source.value as source_value",
      "source.label as source_label",
      "source.color as source_color",
      "priority.value as priority_value",
      "priority.label as priority_label",
      "priority.color as priority_color",
      jsonArrayFrom(
        eb
          .selectFrom("lead_collaborators as lc")
          .innerJoin("users as u", (join) =>
            join.onRef("u.account_id", "=", "lc.account_id").onRef("u.id", "=", "lc.user_id"),
          )
          .where("lc.account_id", "=", accountId)
          .whereRef("lc.lead_id", "=", "l.id")
          .select(["u.id", "u.name", "u.email"])
          .orderBy("u.id"),
      ).as("collaborators"),
    ]);
}

/** One row of describeLeads. */
export type LeadRecord = Awaited<ReturnType<ReturnType<typeof describeLeads>["execute"]>>[number];

/** Returns the nineteen fields of the contract (2.1). */
export function leadResponseOf(row: LeadRecord): LeadResponse {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    email: row.email,
    phone: row.phone,
    assignedAgentId: row.assigned_agent_id,
    contactId: row.contact_id,
    statusId: row.status_id,
    sourceId: row.source_id,
    priorityId: row.priority_id,
    customFields: row.custom_fields as Record<string, unknown>,
    createdBy: row.created_by,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
    status: {
      id: row.status_id,
      value: row.status_value,
      label: row.status_label,
      color: row.status_color,
    },
    source:
      row.source_id === null
        ? null
        : {
            id: row.source_id,
            value: row.source_value!,
            label: row.source_label!,
            color: row.source_color,
          },
    priority: {
      id: row.priority_id,
      value: row.priority_value,
      label: row.priority_label,
      color: row.priority_color,
    },
    contact: { id: row.contact_id, name: row.contact_name, phone: row.contact_phone },
    collaborators: row.collaborators,
  };
}

/** Returns an ILIKE pattern for text anywhere, with its wildcards escaped. */
export function partOf(text: string) {
  return sql<string>`${`%${text.replaceAll(/[\\%_]/g, "\\$&")}%`}`;
}
