// Agents who are away: their groups do not ring them. One who is called by name is rung all the same.
import type { Kysely } from "kysely";
import Type, { type Static } from "typebox";
import { recordAudit, type Actor } from "../accounts/audit/record-audit.ts";
import { statement, type DB, type Executor, type Tx } from "../lib/database/database.ts";
import { notFound } from "../lib/errors.ts";
import { closed, nullable, timestamp } from "../lib/schemas.ts";

export const Availability = closed(
  { away: Type.Boolean({ description: "Away: the number's groups do not ring it" }) },
  { title: "AgentAvailability", examples: [{ away: true }] },
);
export type Availability = Static<typeof Availability>;

/** Since when an agent is away. */
export const away_since = nullable(timestamp("UTC: since when it is away; null: it is not"));

export const AvailabilityResponse = Type.Object(
  { away_since },
  { title: "AgentAvailabilityState" },
);
export type AvailabilityResponse = Static<typeof AvailabilityResponse>;

const findAgent = statement<{ known: boolean }>(`
  select exists (select from extensions where account_id = $1 and extension = $2)
    or exists (select from agent_group_members where account_id = $1 and number = $2)
    or exists (select from agent_numbers where account_id = $1 and number = $2) as known`);

/** Refuses: not-found, if the number is neither an extension nor an agent's phone of the account. */
export async function requireAgent(
  db: Executor,
  account_id: number,
  number: string,
): Promise<void> {
  const [answer] = await findAgent(db, [account_id, number]);
  if (!answer!.known) throw notFound();
}

/** Sets whether the agents at these numbers, as agent legs store them, are away; one who is already stays so. */
export async function setAway(
  tx: Tx,
  actor: Actor,
  numbers: readonly string[],
  away: boolean,
  now: Date,
): Promise<AvailabilityResponse> {
  const { account_id } = actor;
  if (away)
    await tx
      .insertInto("away_agents")
      .values(numbers.map((number) => ({ account_id, number, since: now })))
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  else await clearAway(tx, account_id, numbers);
  for (const number of numbers)
    await recordAudit(tx, actor, {
      at: now,
      action: away ? "agent.away" : "agent.back",
      subject_id: number,
    });
  return { away_since: await readAwaySince(tx, account_id, numbers) };
}

/** Returns since when any agent of these numbers is away; null if none is. */
export async function readAwaySince(
  db: Kysely<DB>,
  account_id: number,
  numbers: readonly string[],
): Promise<string | null> {
  if (numbers.length === 0) return null;
  const row = await db
    .selectFrom("away_agents")
    .select("since")
    .where("account_id", "=", account_id)
    .where("number", "in", numbers)
    .orderBy("since")
    .executeTakeFirst();
  return row?.since.toISOString() ?? null;
}

/** Makes the agents at these numbers available. */
export async function clearAway(
  tx: Tx,
  account_id: number,
  numbers: readonly string[],
): Promise<void> {
  if (numbers.length === 0) return;
  await tx
    .deleteFrom("away_agents")
    .where("account_id", "=", account_id)
    .where("number", "in", numbers)
    .execute();
}
