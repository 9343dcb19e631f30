// The demo's call data: a sandbox node and trunk, and agents to ring.
import type { Tx } from "../lib/database/database.ts";

/** The agents' extensions; the first is the demo agent's. */
const seeded_extensions = ["101", "102", "103"] as const;

/** Creates a sandbox node and a trunk for every account; its calls ring no real phone. */
export async function seedSandboxTrunk(tx: Tx, now: Date): Promise<void> {
  const stamps = { created_at: now, updated_at: now };
  const room = { calls_per_second: 200, calls_max: 2_000 };
  const node = await tx
    .insertInto("voice_nodes")
    .values({ name: "sandbox", driver: "sandbox", ...room, ...stamps })
    .returning("id")
    .executeTakeFirstOrThrow();
  const trunk = await tx
    .insertInto("trunks")
    .values({
      name: "sandbox",
      endpoint: "sandbox",
      number_format: "e164",
      caller_ids: ["9000000000"],
      caller_ids_only: false,
      agent_numbers: "any",
      destinations: ["*"],
      ...stamps,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await tx
    .insertInto("trunk_nodes")
    .values({ trunk_id: trunk.id, node_id: node.id, ...room })
    .execute();
}

/** Creates three extensions with one key each, the first for `user_id`, and a group of them in that order. */
export async function seedCallAgents(
  tx: Tx,
  account_id: number,
  user_id: number,
  now: Date,
): Promise<{ agent_number: string; agent_group_id: string }> {
  const stamps = { created_at: now, updated_at: now };
  await tx
    .insertInto("extensions")
    .values(
      seeded_extensions.map((extension, i) => ({
        account_id,
        extension,
        name: i === 0 ? "Asha Agent" : `Agent ${extension}`,
        user_id: i === 0 ? user_id : null,
        endpoint: extension,
        digit: String(i + 1),
        ...stamps,
      })),
    )
    .execute();
  const group = await tx
    .insertInto("agent_groups")
    .values({
      account_id,
      name: "Support",
      members_count: seeded_extensions.length,
      members_counted_at: now,
      ...stamps,
    })
    .returning("id")
    .executeTakeFirstOrThrow();
  await tx
    .insertInto("agent_group_members")
    .values(
      seeded_extensions.map((number, i) => ({
        account_id,
        group_id: group.id,
        number,
        position: i + 1,
        created_at: now,
      })),
    )
    .execute();
  return { agent_number: seeded_extensions[0], agent_group_id: String(group.id) };
}

/** Sets when the account may call: at any time and as often as it likes, or never, by a window that is never open. */
export async function seedCallingTime(
  tx: Tx,
  account_id: number,
  when: "always" | "never",
): Promise<void> {
  const window =
    when === "always"
      ? {
          night_calling: true,
          calling_from: "00:00",
          calling_to: "24:00",
          calls_per_customer_day: null,
        }
      : { night_calling: false, calling_from: "09:00", calling_to: "09:00" };
  await tx
    .updateTable("accounts")
    .set({ ...window, time_zone: "UTC", call_destinations_allowed: ["*"], call_caps: "{}" })
    .where("account_id", "=", account_id)
    .execute();
}
