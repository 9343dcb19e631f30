import type { Actor } from "../../accounts/audit/record-audit.ts";
import type { Tx } from "../../lib/database/database.ts";
import { Refusal, invalidField } from "../../lib/errors.ts";
import { findPicklistOption } from "./internal/find-picklist-option.ts";
import { lockWorkspace } from "../workspaces/lock-workspace.ts";
import { moveDefaultOption } from "./internal/move-default-option.ts";
import {
  picklistOptionResponse,
  type NewPicklistOption,
  type OptionPath,
  type PicklistOptionResponse,
} from "./picklist-schema.ts";
import { recordWorkspaceChange } from "../workspaces/record-workspace-change.ts";

const options_max = 500;

/** Adds an option. Throws not-found (workspace), 422 (value taken), 409 (more than 500 in a picklist). */
export async function createPicklistOption(
  tx: Tx,
  actor: Actor,
  { workspaceId, picklist }: Omit<OptionPath, "optionId">,
  option: NewPicklistOption,
  now: Date,
): Promise<PicklistOptionResponse> {
  const { account_id } = actor;
  await lockWorkspace(tx, account_id, workspaceId, "changes");
  const others = await tx
    .selectFrom("picklist_options")
    .select(["value", "position"])
    .where("account_id", "=", account_id)
    .where("workspace_id", "=", workspaceId)
    .where("picklist", "=", picklist)
    .execute();
  if (others.length >= options_max) {
    throw new Refusal("conflict", `A picklist has at most ${options_max} options`);
  }
  const taken = new Set(others.map(({ value }) => value));
  if (option.value && taken.has(option.value)) {
    throw invalidField("value", "is already used by an option of this picklist");
  }
  const { id } = await tx
    .insertInto("picklist_options")
    .values({
      account_id,
      workspace_id: workspaceId,
      picklist,
      value: option.value ?? freeValue(option.label, picklist, taken),
      label: option.label,
      color: option.color ?? null,
      position: option.position ?? Math.max(-1, ...others.map(({ position }) => position)) + 1,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  const path = { workspaceId, picklist, optionId: id };
  if (option.isDefault) await moveDefaultOption(tx, account_id, path, now);
  await recordWorkspaceChange(tx, actor, workspaceId, {
    at: now,
    action: "picklist_option.created",
    subject_id: id,
    detail: { picklist, is_default: option.isDefault ?? false },
  });
  return picklistOptionResponse(await findPicklistOption(tx, account_id, path));
}

/** Returns an unused slug of the label, or of the picklist's name if the label has no Latin letter or digit. */
function freeValue(label: string, picklist: string, taken: ReadonlySet<string>): string {
  const slug = label
    .normalize("NFKD")
    .replaceAll(/\p{Mark}/gu, "")
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "_")
    .replaceAll(/^_|_$/g, "")
    .slice(0, 58);
  const base = slug || picklist;
  let value = base;
  for (let n = 2; taken.has(value); n++) value = `${base}_${n}`;
  return value;
}
