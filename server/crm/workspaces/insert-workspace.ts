// A workspace is created with picklists that have a default status and priority, so that leads can be created
// in it immediately.
import type { Tx } from "../../lib/database/database.ts";
import type { Picklist } from "./workspace-schema.ts";

type SeedOption = {
  picklist: Picklist;
  value: string;
  label: string;
  color: string | null;
  is_default?: true;
};

const seed_options: readonly SeedOption[] = [
  { picklist: "status", value: "new", label: "New", color: "#2563eb", is_default: true },
  { picklist: "status", value: "contacted", label: "Contacted", color: "#7c3aed" },
  { picklist: "status", value: "qualified", label: "Qualified", color: "#0d9488" },
  { picklist: "status", value: "won", label: "Won", color: "#16a34a" },
  { picklist: "status", value: "lost", label: "Lost", color: "#6b7280" },
  { picklist: "source", value: "website", label: "Website", color: null },
  { picklist: "source", value: "referral", label: "Referral", color: null },
  { picklist: "source", value: "campaign", label: "Campaign", color: null },
  { picklist: "source", value: "import", label: "Import", color: null },
  { picklist: "priority", value: "low", label: "Low", color: "#6b7280" },
  { picklist: "priority", value: "medium", label: "Medium", color: "#d97706", is_default: true },
  { picklist: "priority", value: "high", label: "High", color: "#dc2626" },
];

/** Inserts the workspace and its picklists; returns its ID. */
export async function insertWorkspace(
  tx: Tx,
  accountId: number,
  workspace: { name: string; active?: boolean },
  now: Date,
): Promise<number> {
  const { id } = await tx
    .insertInto("workspaces")
    .values({
      account_id: accountId,
      name: workspace.name,
      active: workspace.active ?? true,
      created_at: now,
      updated_at: now,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await tx
    .insertInto("picklist_options")
    .values(
      seed_options.map((option, position) => ({
        account_id: accountId,
        workspace_id: id,
        position,
        created_at: now,
        updated_at: now,
        ...option,
      })),
    )
    .execute();
  return id;
}
