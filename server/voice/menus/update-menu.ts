import type { Kysely } from "kysely";
import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { DB, Tx } from "../../lib/database/database.ts";
import { invalid, notFound, type FieldError } from "../../lib/errors.ts";
import { validateMenuReferences, refuseTakenMenu } from "./create-menu.ts";
import { fieldsOf } from "../files/validate-content.ts";
import { validateMenu } from "./internal/validate-menu.ts";
import { graphOf, type MenuResponse, type MenuGraph, type MenuPatch } from "./menu-schema.ts";
import { menuResponse } from "./menus.ts";

/**
 * Updates a menu for campaigns launched from now on. Refuses: not-found; validation-failed (name taken;
 * start and nodes that are not valid in combination with a concurrent change).
 */
export async function updateMenu(
  tx: Tx,
  actor: Actor,
  id: number,
  patch: MenuPatch,
  now: Date,
): Promise<MenuResponse> {
  const { account_id } = actor;
  const row = await tx
    .selectFrom("voice_menus")
    .select("graph")
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (!row) throw notFound();
  const kept = row.graph as MenuGraph;
  const start = patch.start ?? kept.start;
  const violations = validateMenu(start, patch.nodes ?? kept.nodes);
  if (violations.length > 0) throw invalid(violations);
  const graph = patch.nodes ? graphOf({ start, nodes: patch.nodes }) : { ...kept, start };
  const updated = await tx
    .updateTable("voice_menus")
    .set({
      ...(patch.name === undefined ? {} : { name: patch.name }),
      graph: JSON.stringify(graph),
      updated_at: now,
    })
    .where("account_id", "=", account_id)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirstOrThrow()
    .catch(refuseTakenMenu);
  const detail = { changed: Object.keys(patch) };
  await recordAudit(tx, actor, { at: now, action: "voice_menu.updated", subject_id: id, detail });
  return menuResponse(updated);
}

/** Validates a patch beyond the schema; it may have any shape, and the menu may not exist. */
export async function validateMenuPatch(
  db: Kysely<DB>,
  accountId: number,
  id: number,
  body: unknown,
): Promise<FieldError[]> {
  const { start, nodes } = fieldsOf(body) ?? {};
  if (start === undefined && nodes === undefined) return [];
  const row = await db
    .selectFrom("voice_menus")
    .select("graph")
    .where("account_id", "=", accountId)
    .where("id", "=", id)
    .executeTakeFirst();
  if (!row) return [];
  const kept = row.graph as MenuGraph;
  return [
    ...validateMenu(start ?? kept.start, nodes ?? kept.nodes),
    ...(await validateMenuReferences(db, accountId, nodes)),
  ];
}
