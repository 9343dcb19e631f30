import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, invalidField } from "../../lib/errors.ts";
import {
  customFieldResponse,
  type CustomFieldResponse,
  type NewCustomField,
} from "./custom-field-schema.ts";
import { findCustomField } from "./internal/find-custom-field.ts";
import { lockWorkspace } from "../workspaces/lock-workspace.ts";
import { recordWorkspaceChange } from "../workspaces/record-workspace-change.ts";

const fields_max = 200;

/** Adds a custom field. Throws not-found (workspace), 422 (key taken), 409 (more than 200 in a workspace). */
export async function createCustomField(
  tx: Tx,
  actor: Actor,
  workspaceId: number,
  field: NewCustomField,
  now: Date,
): Promise<CustomFieldResponse> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, workspaceId, "changes");
  const others = await tx
    .selectFrom("custom_fields")
    .select(["key", "position"])
    .where("account_id", "=", account_id)
    .where("workspace_id", "=", workspaceId)
    .execute();
  if (others.some(({ key }) => key === field.key)) {
    throw invalidField("key", "is already used by a custom field, which may be archived");
  }
  if (others.length >= fields_max) {
    throw new Refusal(
      "conflict",
      `A workspace has at most ${fields_max} custom fields, including archived ones`,
    );
  }
  const { id } = await tx
    .insertInto("custom_fields")
    .values({
      account_id,
      workspace_id: workspaceId,
      key: field.key,
      label: field.label,
      type: field.type,
      required: field.required ?? false,
      options: field.options ?? [],
      position: field.position ?? Math.max(-1, ...others.map(({ position }) => position)) + 1,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await recordWorkspaceChange(tx, actor, workspaceId, {
    at: now,
    action: "custom_field.created",
    subject_id: id,
    detail: { type: field.type, required: field.required ?? false },
  });
  return customFieldResponse(await findCustomField(tx, account_id, workspaceId, id));
}
