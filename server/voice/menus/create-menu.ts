import type { Kysely } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import { violatesUnique } from "../../lib/database/database-errors.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalidField, type FieldError } from "../../lib/errors.ts";
import {
  fieldsOf,
  validateReferences,
  referencesOfTransfer,
  type Reference,
} from "../files/validate-content.ts";
import { validateMenu } from "./internal/validate-menu.ts";
import { graphOf, type MenuResponse, type NewMenu } from "./menu-schema.ts";
import { menuResponse } from "./menus.ts";

/** Creates a menu that validateNewMenu accepted. Refuses: validation-failed (name taken). */
export async function createMenu(
  tx: Tx,
  actor: Actor,
  menu: NewMenu,
  now: Date,
): Promise<MenuResponse> {
  const { account_id } = actor;
  const created = await tx
    .insertInto("voice_menus")
    .values({
      account_id,
      name: menu.name,
      graph: JSON.stringify(graphOf(menu)),
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(refuseTakenMenu);
  await recordAudit(tx, actor, { at: now, action: "voice_menu.created", subject_id: created.id });
  return menuResponse(created);
}

/** Validates the body of a new menu beyond the schema; the body may have any shape. */
export async function validateNewMenu(
  db: Kysely<DB>,
  accountId: number,
  body: unknown,
): Promise<FieldError[]> {
  const { start, nodes } = fieldsOf(body) ?? {};
  return [...validateMenu(start, nodes), ...(await validateMenuReferences(db, accountId, nodes))];
}

/** Validates that the nodes reference resources of the account; they may have any shape. */
export async function validateMenuReferences(
  db: Kysely<DB>,
  accountId: number,
  nodes: unknown,
): Promise<FieldError[]> {
  const references = Object.entries(fieldsOf(nodes) ?? {}).flatMap(([name, node]): Reference[] => {
    const at = `nodes.${name}`;
    const { prompt, invalid_prompt, to } = fieldsOf(node) ?? {};
    const file = (field: string, played: unknown): Reference => ({
      field: `${at}.${field}.voice_file_id`,
      kind: "voice_file",
      value: fieldsOf(played)?.["voice_file_id"],
    });
    return [
      file("prompt", prompt),
      file("invalid_prompt", invalid_prompt),
      ...referencesOfTransfer(`${at}.to`, to),
    ];
  });
  return validateReferences(db, accountId, references);
}

/** Refuses validation-failed on `name` if its unique constraint was violated; rethrows any other error. */
export function refuseTakenMenu(error: unknown): never {
  if (violatesUnique(error, "voice_menus_account_id_name_key"))
    throw invalidField("name", "is already the name of a menu");
  throw error;
}
