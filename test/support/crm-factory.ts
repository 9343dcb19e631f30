// Creates contacts, custom fields and picklist options of a workspace.
import type { App } from "../../server/engine/app.ts";
import {
  workspaceSubject,
  type CustomFieldType,
  type Picklist,
} from "../../server/crm/workspaces/workspace-schema.ts";
import { unique, type TestAccount } from "./account-factory.ts";

type Workspace = Pick<TestAccount, "account_id" | "workspace_id">;

/** Creates a contact of the workspace; returns its ID. */
export async function makeContact(
  app: Pick<App, "db" | "clock">,
  { account_id, workspace_id }: Workspace,
  contact: { phone: string; name: string; phone_e164?: string; time_zone?: string },
): Promise<number> {
  const now = app.clock.now();
  const { id } = await app.db.query
    .insertInto("contacts")
    .values({
      account_id,
      workspace_id,
      phone_e164: `+91${contact.phone}`,
      created_at: now,
      updated_at: now,
      ...contact,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  return id;
}

/** Creates a custom field of the workspace; returns its ID. */
export async function makeCustomField(
  app: App,
  { account_id, workspace_id }: Workspace,
  field: { key: string; type: CustomFieldType; required?: boolean; options?: string[] },
): Promise<number> {
  const now = app.clock.now();
  const { id } = await app.db.query
    .insertInto("custom_fields")
    .values({
      account_id,
      workspace_id,
      label: field.key,
      position: 0,
      created_at: now,
      updated_at: now,
      ...field,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await bumpSchemaVersion(app, { account_id, workspace_id });
  return id;
}

/** Creates a picklist option that is not the default; returns its ID. */
export async function makeOption(
  app: App,
  { account_id, workspace_id }: Workspace,
  option: { picklist: Picklist; value?: string; archived?: boolean },
): Promise<number> {
  const now = app.clock.now();
  const value = option.value ?? unique("option");
  const { id } = await app.db.query
    .insertInto("picklist_options")
    .values({
      account_id,
      workspace_id,
      picklist: option.picklist,
      value,
      label: value,
      position: 100,
      archived_at: option.archived ? now : null,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await bumpSchemaVersion(app, { account_id, workspace_id });
  return id;
}

/** Returns the ID of one of the predefined options of a workspace. */
export async function optionId(
  app: App,
  { account_id, workspace_id }: Workspace,
  picklist: Picklist,
  value: string,
): Promise<number> {
  const { id } = await app.db.query
    .selectFrom("picklist_options")
    .select("id")
    .where("account_id", "=", account_id)
    .where("workspace_id", "=", workspace_id)
    .where("picklist", "=", picklist)
    .where("value", "=", value)
    .executeTakeFirstOrThrow();
  return id;
}

/** Bumps the schema version, so that no process validates against an outdated copy. */
async function bumpSchemaVersion(app: App, { account_id, workspace_id }: Workspace): Promise<void> {
  await app.db.query
    .updateTable("workspaces")
    .set((eb) => ({ schema_version: eb("schema_version", "+", 1) }))
    .where("account_id", "=", account_id)
    .where("id", "=", workspace_id)
    .execute();
  app.notifications.send("workspace", workspaceSubject(account_id, workspace_id));
}
