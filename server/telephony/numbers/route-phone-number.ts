import { recordAudit, type Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { invalid, notFound, type FieldError } from "../../lib/errors.ts";
import { knownId } from "../../lib/ids.ts";
import type { PhoneNumberPatch, PhoneNumberResponse } from "./phone-number-schema.ts";
import { phoneNumberResponse } from "./phone-numbers.ts";

/**
 * Routes the incoming calls of a phone number to a menu or an agent group, or to none. Refuses: not-found;
 * validation-failed (menu_id, agent_group_id).
 */
export async function routePhoneNumber(
  tx: Tx,
  actor: Actor,
  number: string,
  { menu_id = null, agent_group_id = null }: PhoneNumberPatch,
  now: Date,
): Promise<PhoneNumberResponse> {
  const { account_id } = actor;
  const violations = [
    ...(menu_id === null ? [] : await validateMenu(tx, account_id, menu_id)),
    ...(agent_group_id === null ? [] : await validateGroup(tx, account_id, agent_group_id)),
  ];
  if (menu_id !== null && agent_group_id !== null)
    violations.push({ field: "agent_group_id", reason: "must be null or omitted beside menu_id" });
  if (violations.length > 0) throw invalid(violations);
  const row = await tx
    .updateTable("phone_numbers")
    .set({ menu_id, agent_group_id })
    .where("account_id", "=", account_id)
    .where("number", "=", number)
    .returningAll()
    .executeTakeFirst();
  if (!row) throw notFound();
  const detail = { menu_id, agent_group_id };
  await recordAudit(tx, actor, {
    at: now,
    action: "phone_number.routed",
    subject_id: number,
    detail,
  });
  return phoneNumberResponse(row);
}

/** Locks the menu, so that it cannot be deleted before the commit. */
async function validateMenu(tx: Tx, accountId: number, id: number): Promise<FieldError[]> {
  const menu = await tx
    .selectFrom("voice_menus")
    .select("graph")
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(id))
    .forShare()
    .executeTakeFirst();
  if (!menu) return [{ field: "menu_id", reason: "matches no menu" }];
  const { nodes } = menu.graph as { nodes: Record<string, { type: string }> };
  const callback = Object.entries(nodes).find(([, { type }]) => type === "callback");
  if (!callback) return [];
  const reason = `must be a menu without callbacks, which only campaigns place; "${callback[0]}" is one`;
  return [{ field: "menu_id", reason }];
}

async function validateGroup(tx: Tx, accountId: number, id: number): Promise<FieldError[]> {
  const group = await tx
    .selectFrom("agent_groups")
    .select("id")
    .where("account_id", "=", accountId)
    .where("id", "=", knownId(id))
    .executeTakeFirst();
  return group ? [] : [{ field: "agent_group_id", reason: "matches no agent group" }];
}
